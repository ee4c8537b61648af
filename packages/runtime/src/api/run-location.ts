// Where the entries of a run are in its session, and how far it has come.

import type { StreamManager, Ticket } from '@millrace/log'
import { RunError } from '../error/error.ts'
import { sessionUnknown } from '../session/log-errors.ts'
import { cutterOf, requestFor } from './request.ts'

export interface RunLocation {
  /** Whether it has ended, so that all of it lies in what was looked at. */
  readonly isEnded: boolean
  /** How far was looked. */
  readonly head: number
  /** Whether it has begun; otherwise it waits for its turn. */
  readonly hasBegun: boolean
  /** All entries of the run lie after this place. */
  readonly from: number
  /** The last sequence that was trimmed. */
  readonly floor: number
  /** Whether a later run took the session back to before this one. */
  readonly isCut: boolean
}

/** Where a run stands; throws where it was never asked for, or its request was taken back. */
export async function locateRun(
  manager: StreamManager,
  sessionId: string,
  runId: string,
  requestedAt?: number,
): Promise<RunLocation> {
  const info = await manager.getInfo(sessionId)
  if (info === null) throw sessionUnknown(sessionId)
  const { ticket, floor, head } = info
  // The one who asked knows where: the whole session need not be read for that.
  if (requestedAt !== undefined && requestedAt >= floor && isLive(ticket, runId)) {
    return { hasBegun: ticket.run?.runId === runId, isEnded: false, from: requestedAt, floor, head, isCut: false }
  }
  const { view } = await manager.view(sessionId)
  const request = requestFor(view, runId)
  const run = view.runs.find(other => other.runId === runId)
  if (run) {
    const from = request && request.at >= floor ? request.at : run.at - 1
    const isEnded = run.status !== 'running' && run.status !== 'paused'
    return { hasBegun: true, isEnded, from, floor, head: view.head, isCut: cutterOf(view, run) !== undefined }
  }
  if (request?.status === 'waiting') {
    return { hasBegun: false, isEnded: false, from: request.at, floor, head: view.head, isCut: false }
  }
  throw request ? takenBack(runId) : new RunError('run_unknown', `there is no run ${runId} in session ${sessionId}`)
}

/** Whether a run is open or waits for its turn. */
export const isLive = ({ run, requests }: Ticket, runId: string): boolean =>
  run?.runId === runId || requests.some(request => request.runId === runId)

/** A request that was taken back is no run, and never will be. */
export const takenBack = (runId: string): RunError =>
  new RunError('run_taken_back', `run ${runId} did not start: its request was taken back`)

// Locates the entries of a run in its session.

import type { StreamManager, Ticket } from '@millrace/log'
import { RunError } from '../error/error.ts'
import { sessionUnknown } from '../session/log-errors.ts'
import { requestFor, rewindingRun } from './request.ts'

export interface RunLocation {
  /** Whether it has ended, so that all its entries are before `head`. */
  readonly isEnded: boolean
  /** Head of the session at the time of the lookup. */
  readonly head: number
  /** Whether it has started. Otherwise it is queued. */
  readonly hasStarted: boolean
  /** All entries of the run follow this sequence. */
  readonly from: number
  /** The last trimmed sequence. */
  readonly floor: number
  /** Whether a later run rewound the session to before this one. */
  readonly isRewound: boolean
}

/**
 * Locates a run.
 * @throws {RunError} `run_unknown` if it was never requested, `run_taken_back` if its request was cancelled, or
 * `session_unknown`.
 */
export async function locateRun(
  manager: StreamManager,
  sessionId: string,
  runId: string,
  requestedAt?: number,
): Promise<RunLocation> {
  const info = await manager.getInfo(sessionId)
  if (info === null) throw sessionUnknown(sessionId)
  const { ticket, floor, head } = info
  // The requester knows the sequence, so the session need not be read.
  if (requestedAt !== undefined && requestedAt >= floor && isLive(ticket, runId)) {
    return { hasStarted: ticket.run?.runId === runId, isEnded: false, from: requestedAt, floor, head, isRewound: false }
  }
  const { view } = await manager.view(sessionId)
  const request = requestFor(view, runId)
  const run = view.runs.find(other => other.runId === runId)
  if (run) {
    const from = request && request.at >= floor ? request.at : run.at - 1
    const isEnded = run.status !== 'running' && run.status !== 'paused'
    return { hasStarted: true, isEnded, from, floor, head: view.head, isRewound: rewindingRun(view, run) !== undefined }
  }
  if (request?.status === 'waiting') {
    return { hasStarted: false, isEnded: false, from: request.at, floor, head: view.head, isRewound: false }
  }
  throw request
    ? cancelledError(runId)
    : new RunError('run_unknown', `session ${sessionId} has no run ${runId}: use the id of one of its runs`)
}

/** Whether a run is open or queued. */
export const isLive = ({ run, requests }: Ticket, runId: string): boolean =>
  run?.runId === runId || requests.some(request => request.runId === runId)

/** The error of a cancelled request. */
export const cancelledError = (runId: string): RunError =>
  new RunError('run_taken_back', `run ${runId} did not start: its request was cancelled`)

// Which entries a writer may append, decided on the ticket: one open run, one end of it, and a rewind only where a
// run begins (laws 3 and 7).

import { isGuest, type WriterOrigin } from '@millrace/protocol'
import type { NewEntry } from '../store/entry.ts'
import { LogError } from '../store/log-error.ts'
import { chunkNameProblem, nameProblem } from './name-problem.ts'
import { listFieldProblem } from './session-info.ts'
import { advance, pendingKey, pendingOpenedBy, type Ticket } from './ticket.ts'

/** Maximum number of pendings in a ticket. */
export const MAX_PENDINGS = 256

/** @throws LogError `refused` if a writer's batch does not fit the ticket. */
export function checkBatch(ticket: Ticket, entries: readonly NewEntry[]): void {
  const problem = batchProblem(ticket, entries)
  if (problem !== undefined) throw new LogError('refused', problem)
}

/** Returns why a writer's batch does not fit the ticket, or undefined. */
export function batchProblem(ticket: Ticket, batch: readonly NewEntry[]): string | undefined {
  let current = ticket
  for (const [index, entry] of batch.entries()) {
    const { origin, chunk } = entry
    if (isGuest(origin)) return `origin: expected the origin of a writer, found guest ${origin.guest}`
    const { run } = current
    switch (chunk.type) {
      case 'rewind':
        if (run) return `rewind: run ${run.runId} is open: end it first`
        if (index > 0 || batch[1]?.chunk.type !== 'run-started') {
          return 'rewind: expected as the first entry of a batch, before the run-started of the next run'
        }
        break
      case 'run-started':
        if (run) return `run-started: run ${run.runId} is open: end it first`
        if (current.ended.includes(origin.runId))
          return `run-started: run ${origin.runId} has ended, start one with another id`
        break
      case 'run-requested':
        return 'run-requested: append it as a guest, so that a repeated request is a duplicate'
      case 'stop-requested':
        break
      default:
        if (run?.runId !== origin.runId) {
          return `${chunk.type}: run ${origin.runId} is not open, ${run ? `run ${run.runId} is` : 'start it first'}`
        }
    }
    const next = advance(current, [entry])
    // The size of a ticket is limited where its content comes from (law 6).
    const problem =
      next === current ? undefined : (originProblem(origin) ?? chunkNameProblem(chunk) ?? listFieldProblem(chunk))
    if (problem !== undefined) return problem
    if ((chunk.type === 'run-paused' || chunk.type === 'run-finished') && !Number.isSafeInteger(chunk.notifyBy ?? 0)) {
      return `${chunk.type}.notifyBy: expected whole milliseconds, found ${chunk.notifyBy}`
    }
    const opened = pendingOpenedBy(chunk)
    if (opened) {
      if (current.pendings.length >= MAX_PENDINGS)
        return `${chunk.type}: expected at most ${MAX_PENDINGS} pendings, found one more: settle one first`
      const { deadline } = opened
      if (deadline !== undefined && !Number.isSafeInteger(deadline)) {
        return `${chunk.type}.deadline: expected whole milliseconds, found ${deadline}`
      }
      const isOpen = current.pendings.some(pending => pendingKey(pending) === pendingKey(opened))
      if (isOpen) return `${chunk.type}: ${opened.kind} ${opened.id} is open already, use another id`
    }
    current = next
  }
  return undefined
}

const originProblem = ({ runId, lane, agentId }: WriterOrigin): string | undefined =>
  nameProblem('origin.runId', runId) ?? nameProblem('origin.lane', lane) ?? nameProblem('origin.agentId', agentId)

import type { NewEntry } from '../store/entry.ts'
import { LogError } from '../store/log-error.ts'
import { batchProblem } from '../ticket/batch-problem.ts'
import type { Ticket } from '../ticket/ticket.ts'

/** The error of a closed writer. */
export const closedError = (): LogError => new LogError('closed', 'the writer was closed: create another one')

/** @throws LogError `refused` if a writer's batch does not fit the ticket. */
export function checkBatch(ticket: Ticket, entries: readonly NewEntry[]): void {
  const problem = batchProblem(ticket, entries)
  if (problem !== undefined) throw new LogError('refused', problem)
}

/** The error of a writer that lost its log. */
export function lostError(outcome: 'fenced' | 'regressed', streamId: string): LogError {
  if (outcome === 'fenced')
    return new LogError('fenced', `another writer has claimed the log ${streamId}: claim it again to write`)
  const loss = `the log ${streamId} lost entries that were acknowledged`
  return new LogError('regressed', `${loss}: claim it again and read it`)
}

/** Whether an append was rejected for its content: nothing of it is in the log, and the writer can continue. */
export const isContentError = (error: unknown): boolean =>
  error instanceof LogError && (error.code === 'refused' || error.code === 'too-large' || error.code === 'invalid')

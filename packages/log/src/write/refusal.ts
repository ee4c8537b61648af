import type { NewEntry } from '../store/entry.ts'
import { LogError } from '../store/log-error.ts'
import { batchProblem } from '../ticket/batch-problem.ts'
import type { Ticket } from '../ticket/ticket.ts'

/** What a writer says that was closed. */
export const closed = (): LogError => new LogError('closed', 'the writer was closed: make another one')

/** Throws where a writer's batch does not fit the ticket. */
export function check(ticket: Ticket, entries: readonly NewEntry[]): void {
  const problem = batchProblem(ticket, entries)
  if (problem !== undefined) throw new LogError('refused', problem)
}

/** What a writer says that has lost its log. */
export function lost(outcome: 'fenced' | 'regressed', streamId: string): LogError {
  if (outcome === 'fenced') return new LogError('fenced', `another writer has the log ${streamId}`)
  const what = `the log ${streamId} lost entries that were acknowledged`
  return new LogError('regressed', `${what}: claim it again and read it`)
}

/** Whether something was refused for what it says, so that nothing of it is in the log and the writer can go on. */
export const isRefusal = (error: unknown): boolean =>
  error instanceof LogError && (error.code === 'refused' || error.code === 'too-large' || error.code === 'invalid')

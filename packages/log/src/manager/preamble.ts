// What the first batch of a writer begins with, if its caller says nothing else: a start, a continuation, or a takeover.

import type { Chunk, WriterOrigin } from '@millrace/protocol'
import type { NewEntry } from '../entry.ts'
import { LogError } from '../error.ts'
import { mustStop, type Ticket } from '../ticket/ticket.ts'
import type { Preamble } from './writer.ts'

/** What is known when the writer is made, and does not change while it has the log. */
export interface Beginning {
  readonly origin: WriterOrigin
  readonly program: string
  /** The message of the run's request, if there is such a request with one. */
  readonly message?: Chunk
  /** The drafts that somebody left open in this run. */
  readonly drafts: readonly WriterOrigin[]
  /** Whether the run was asked for when the writer was made. */
  readonly wasRequested: boolean
  readonly head: number
}

/** Begins the run, or goes on with it, as the ticket says. */
export function preambleOf(beginning: Beginning): Preamble {
  const { origin } = beginning
  const say = (chunk: Chunk): NewEntry => ({ origin, chunk })
  return ticket => {
    if (ticket.run === null) return start(beginning, ticket, say)
    if (ticket.run.runId !== origin.runId) {
      throw new LogError('refused', `run ${ticket.run.runId} is open: end it before run ${origin.runId} starts`)
    }
    // The reply that was shown is kept where the run is to stop: its end seals the drafts.
    const drafts = mustStop(ticket) ? [] : beginning.drafts
    const discards = drafts.map(
      (own): NewEntry => ({ origin: own, chunk: { type: 'step-discarded', reason: 'superseded' } }),
    )
    const goesOn: Chunk = ticket.run.paused
      ? { type: 'run-resumed', mode: 'continue' }
      : { type: 'executor-superseded' }
    return [say(goesOn), ...discards]
  }
}

function start(
  { origin, program, message, wasRequested, head }: Beginning,
  { requests }: Ticket,
  say: (chunk: Chunk) => NewEntry,
): NewEntry[] {
  const request = requests.find(({ runId }) => runId === origin.runId)
  if (wasRequested !== (request !== undefined)) {
    // Its message was not looked for, or is of no use any more.
    const what = request ? 'was asked for meanwhile: make another writer' : 'is not asked for any more'
    throw new LogError('refused', `run ${origin.runId} ${what}`)
  }
  const cutting = requests.find(other => other === request || other.cut)
  if (cutting && cutting !== request) {
    throw new LogError('refused', `run ${cutting.runId} cuts the session and goes first: start that`)
  }
  const cut = request?.cut
  return [
    ...(cut && cut.toSequence < head ? [say({ type: 'rewind', ...cut })] : []),
    say({ type: 'run-started', program }),
    ...(message ? [say(message)] : []),
  ]
}

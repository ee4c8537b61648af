// What the first batch of a writer begins with, if its caller says nothing else: a start, a continuation, or a takeover.

import { type Chunk, type Entry, isRunContext, isRunRequested, type Usage, type WriterOrigin } from '@millrace/protocol'
import type { NewEntry } from '../store/entry.ts'
import { LogError } from '../store/log-error.ts'
import { mustStop, type Ticket } from '../ticket/ticket.ts'

/** What the first batch begins with, unless the caller's own does; decided again where the ticket has moved. Throws where nothing can begin. */
export type Preamble = (ticket: Ticket) => readonly NewEntry[]

const BEGINS = new Set(['run-started', 'executor-superseded', 'run-resumed'])

/** Whether a batch says itself how the run begins or goes on. */
export const begins = (entries: readonly NewEntry[]): boolean => entries.some(({ chunk }) => BEGINS.has(chunk.type))

/** What is known when the writer is made, and does not change while it has the log. */
export interface PreambleOptions {
  readonly origin: WriterOrigin
  readonly program: string
  /** The drafts that somebody left open in this run, and what they have used. */
  readonly drafts: readonly { readonly origin: WriterOrigin; readonly usage?: Usage }[]
  /** The request for the run, as it was said, if there was one when the writer was made. */
  readonly request: readonly Entry[] | undefined
  readonly head: number
}

/** Begins the run, or goes on with it, as the ticket says. */
export function preambleOf(beginning: PreambleOptions): Preamble {
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
      ({ origin: own, usage }): NewEntry => ({
        origin: own,
        chunk: { type: 'step-discarded', reason: 'superseded', ...(usage && { usage }) },
      }),
    )
    const goesOn: Chunk = ticket.run.paused
      ? { type: 'run-resumed', mode: 'continue' }
      : { type: 'executor-superseded' }
    return [say(goesOn), ...discards]
  }
}

function start(
  { origin, program, request: asked, head }: PreambleOptions,
  { requests }: Ticket,
  say: (chunk: Chunk) => NewEntry,
): NewEntry[] {
  const request = requests.find(({ runId }) => runId === origin.runId)
  if ((asked === undefined) !== (request === undefined)) {
    // Its message was not looked for, or is of no use any more.
    const what = request ? 'was asked for meanwhile: make another writer' : 'is not asked for any more'
    throw new LogError('refused', `run ${origin.runId} ${what}`)
  }
  const cutting = requests.find(other => other === request || other.cut)
  if (cutting && cutting !== request) {
    throw new LogError('refused', `run ${cutting.runId} cuts the session and goes first: start that`)
  }
  const cut = request?.cut
  const { message, resume } = asked?.map(({ chunk }) => chunk).find(isRunRequested) ?? {}
  const begins: NewEntry[] = [say({ type: 'run-started', program, ...(resume && { resumes: resume.runId }) })]
  if (cut && cut.toSequence < head) begins.unshift(say({ type: 'rewind', ...cut }))
  if (message) begins.push(say({ type: 'message', ...message }))
  if (resume) {
    const { runId, ...how } = resume
    begins.push(say({ type: 'run-resumed', ...how }))
  }
  const context = asked?.find(({ chunk }) => isRunContext(chunk))
  if (context)
    begins.push({ origin, chunk: context.chunk, internal: true, ...(context.blobs && { blobs: context.blobs }) })
  return begins
}

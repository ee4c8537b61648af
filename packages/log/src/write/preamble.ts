// The first entries of a writer, unless its caller writes them: a start, a continuation or a takeover.

import { type Chunk, type Entry, isRunContext, isRunRequested, type Usage, type WriterOrigin } from '@millrace/protocol'
import type { NewEntry } from '../store/entry.ts'
import { LogError } from '../store/log-error.ts'
import { mustStop, resumedChunk, type Ticket } from '../ticket/ticket.ts'

/**
 * Returns the first entries of the first batch, unless the caller's batch has its own. Called again if the ticket
 * changes. Throws if the run cannot begin.
 */
export type Preamble = (ticket: Ticket) => readonly NewEntry[]

const BEGIN_TYPES = new Set(['run-started', 'executor-superseded', 'run-resumed'])

/** Whether a batch itself starts or continues the run. */
export const startsRun = (entries: readonly NewEntry[]): boolean =>
  entries.some(({ chunk }) => BEGIN_TYPES.has(chunk.type))

/** State at the creation of the writer, constant while it has the log. */
export interface PreambleOptions {
  readonly origin: WriterOrigin
  readonly program: string
  /** The drafts that the driver before left open in this run, and their token usage. */
  readonly drafts: readonly { readonly origin: WriterOrigin; readonly usage?: Usage }[]
  /** The entries of the run's request, if there was one when the writer was created. */
  readonly request: readonly Entry[] | undefined
  readonly head: number
}

/** The preamble that starts or continues the run, depending on the ticket. */
export function preambleOf(options: PreambleOptions): Preamble {
  const { origin } = options
  const entry = (chunk: Chunk): NewEntry => ({ origin, chunk })
  return ticket => {
    if (ticket.run === null) return start(options, ticket, entry)
    if (ticket.run.runId !== origin.runId) {
      throw new LogError('refused', `run ${ticket.run.runId} is open: end it before run ${origin.runId} starts`)
    }
    // If the run must stop, the text that readers have seen is kept: the run's end commits the drafts.
    const drafts = mustStop(ticket) ? [] : options.drafts
    const discards = drafts.map(
      ({ origin: entryOrigin, usage }): NewEntry => ({
        origin: entryOrigin,
        chunk: { type: 'step-discarded', reason: 'superseded', ...(usage && { usage }) },
      }),
    )
    const continuation: Chunk = ticket.run.paused ? resumedChunk(ticket.run) : { type: 'executor-superseded' }
    return [entry(continuation), ...discards]
  }
}

function start(
  { origin, program, request: requestEntries, head }: PreambleOptions,
  { requests }: Ticket,
  entry: (chunk: Chunk) => NewEntry,
): NewEntry[] {
  const request = requests.find(({ runId }) => runId === origin.runId)
  if ((requestEntries === undefined) !== (request === undefined)) {
    // The request's message was not read, or is no longer needed.
    const problem = request
      ? 'was requested meanwhile: create another writer'
      : 'is no longer requested: request it again'
    throw new LogError('refused', `run ${origin.runId} ${problem}`)
  }
  const cutting = requests.find(other => other === request || other.cut)
  if (cutting && cutting !== request) {
    throw new LogError('refused', `run ${cutting.runId} rewinds the session: start it before run ${origin.runId}`)
  }
  const cut = request?.cut
  const { message, resume } = requestEntries?.map(({ chunk }) => chunk).find(isRunRequested) ?? {}
  const firstEntries: NewEntry[] = [entry({ type: 'run-started', program, ...(resume && { resumes: resume.runId }) })]
  if (cut && cut.toSequence < head) firstEntries.unshift(entry({ type: 'rewind', ...cut }))
  if (message) firstEntries.push(entry({ type: 'message', ...message }))
  if (resume) {
    const { runId, ...how } = resume
    firstEntries.push(entry({ type: 'run-resumed', ...how }))
  }
  const context = requestEntries?.find(({ chunk }) => isRunContext(chunk))
  if (context)
    firstEntries.push({ origin, chunk: context.chunk, internal: true, ...(context.blobs && { blobs: context.blobs }) })
  return firstEntries
}

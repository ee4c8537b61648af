// `cleanupToStep` of the Helix page. It appends and deletes nothing: drafts get a discard, later turns a rewind with which
// the next run begins.

import { type Chunk, isGuest, type WriterOrigin } from '@millrace/protocol'
import type { LogHistory } from '../read/log-history.ts'
import { absentError } from '../store/checks.ts'
import { LogError } from '../store/log-error.ts'
import type { Page } from '../store/log-store.ts'
import { mustStop, ticketOf } from '../ticket/ticket.ts'
import type { GuestOutcome } from '../write/guest-append.ts'
import type { Writer } from '../write/writer.ts'

/** Maximum number of reads of a log that is written meanwhile. */
const MAX_ATTEMPTS = 16

/** Discards the drafts of the open run after a sequence, and those of the root agent after a step. Returns their number. */
export async function discardDrafts(
  history: LogHistory,
  writer: Writer,
  step: number,
  minSequence: number,
): Promise<number> {
  // A sub-agent counts its own steps.
  const isLater = ({ agentId, runId, ...origin }: WriterOrigin) => agentId !== runId || origin.step > step
  for (let tries = 0; tries < MAX_ATTEMPTS; tries++) {
    await writer.flush()
    const { sequence } = writer.cursor
    const drafts = await history.openDrafts(writer.streamId)
    let count: number | undefined
    await writer.decide(ticket => {
      count = undefined
      // Drafts since the last read are unknown, and the discard might remove them too.
      if (writer.cursor.sequence !== sequence) return undefined
      const { run } = ticket
      // A run that was asked to stop keeps the text that readers have seen.
      const open = run && !mustStop(ticket) ? drafts.of(run.runId) : []
      const cut = open.filter(({ origin, from }) => isLater(origin) && from > minSequence)
      count = cut.length
      return cut.map(({ origin, usage }) => {
        const reason = `cleanup to step ${step}`
        return { chunk: { type: 'step-discarded', reason, ...(usage && { usage }) }, lane: writer.lane(origin) }
      })
    })
    if (count !== undefined) return count
  }
  throw new LogError(
    'busy',
    `${writer.streamId} was written to during every attempt: stop other writes, then try again`,
  )
}

/** A requested rewind. The first batch of a writer of this run makes it. */
export interface RequestedRewind {
  readonly runId: string
  readonly toSequence: number
}

/** Requests a run that rewinds the session to the end of a step. Returns undefined if nothing follows that step. */
export async function requestRewind(
  history: LogHistory,
  append: (chunk: Chunk) => Promise<GuestOutcome>,
  streamId: string,
  step: number,
  { runId: ofRun, nextRunId: runId }: { readonly runId: string | undefined; readonly nextRunId: string },
): Promise<RequestedRewind | undefined> {
  const { toSequence, program, head } = await endOfStep(history, streamId, step, ofRun)
  if (toSequence === head) return undefined
  const cut = { toSequence, reason: `cleanup to step ${step}` }
  const done = await append({ type: 'run-requested', runId, program, cut })
  if (done.outcome !== 'refused') return { runId, toSequence }
  throw new LogError('refused', `cannot rewind to ${toSequence}: ${done.reason}`)
}

interface StepEnd {
  readonly toSequence: number
  readonly program: string
  readonly head: number
}

/** The end of a step on the main lane of a run, with the run's program. For step 0, the sequence before the run. */
function endOfStep(history: LogHistory, streamId: string, step: number, ofRun: string | undefined): Promise<StepEnd> {
  return history.withTrimRetry(streamId, page => findEndOfStep(history, streamId, page, step, ofRun))
}

async function findEndOfStep(
  history: LogHistory,
  streamId: string,
  page: Page | undefined,
  step: number,
  ofRun: string | undefined,
): Promise<StepEnd> {
  if (page === undefined) throw absentError(streamId)
  const ticket = ticketOf(page.ticket)
  const runId = ofRun ?? ticket.run?.runId ?? ticket.last?.runId
  let toSequence: number | undefined
  let program: string | undefined
  let lane: string | undefined
  await history.forEachBatch(streamId, page.floor, page.head, entries => {
    for (const { sequence, origin, chunk } of entries) {
      if (isGuest(origin) || origin.runId !== runId || origin.agentId !== runId) continue
      if (chunk.type === 'run-started') {
        program = chunk.program
        lane = origin.lane
        if (step === 0) toSequence = sequence - 1
      } else if (step > 0 && origin.lane === lane && chunk.type === 'checkpoint-created') {
        if (isEndOfStep(chunk, origin, step)) toSequence = sequence
      }
    }
  })
  if (toSequence === undefined || program === undefined) {
    throw new LogError(
      'refused',
      `expected a finished step ${step} in run ${runId ?? '(none)'} of ${streamId}, found none`,
    )
  }
  return { toSequence, program, head: page.head }
}

const isEndOfStep = (
  chunk: { stepCount?: number; closesStep?: boolean },
  origin: WriterOrigin,
  step: number,
): boolean => (chunk.stepCount ?? origin.step) === step && chunk.closesStep !== false

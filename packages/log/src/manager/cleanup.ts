// `cleanupToStep` of the Helix pages, by appending: drafts are discarded, and later turns are cut by a rewind that the next run begins with.

import { isGuest, type WriterOrigin } from '@millrace/protocol'
import { LogError } from '../error.ts'
import { mustStop, ticketOf } from '../ticket/ticket.ts'
import type { PastReader } from './past.ts'
import { Survival } from './survival.ts'
import type { Writer } from './writer.ts'

/** What was taken back so far in a log, and what may still be. */
export async function survivalOf(past: PastReader, streamId: string, head?: number): Promise<Survival> {
  const survival = new Survival()
  const page = await past.head(streamId)
  if (page) {
    await past.each(streamId, page.floor, head ?? page.head, entries => {
      for (const entry of entries) survival.add(entry)
    })
  }
  return survival
}

/** Discards the open run's drafts after a step and a place; tells how many. */
export async function discardDrafts(
  past: PastReader,
  writer: Writer,
  step: number,
  minSequence: number,
): Promise<number> {
  await writer.flush()
  const survival = await survivalOf(past, writer.streamId)
  let count = 0
  await writer.decide(ticket => {
    const { run } = ticket
    // Where the run is to stop, what was shown is kept.
    const open = run && !mustStop(ticket) ? survival.openDrafts(run.runId) : []
    const cut = open.filter(({ origin, from }) => origin.step > step && from > minSequence)
    count = cut.length
    return cut.map(({ origin }) => {
      return { chunk: { type: 'step-discarded', reason: `cleanup to step ${step}` }, lane: writer.lane(origin) }
    })
  })
  return count
}

/** Where a run's step ended on its main lane, and what drives that run; before the run for step 0. */
export async function endOfStep(
  past: PastReader,
  streamId: string,
  step: number,
  ofRun: string | undefined,
): Promise<{ toSequence: number; program: string; head: number }> {
  const page = await past.head(streamId)
  if (page === undefined) throw new LogError('absent', `there is no log ${streamId}`)
  const ticket = ticketOf(page.ticket)
  const runId = ofRun ?? ticket.run?.runId ?? ticket.last?.runId
  let toSequence: number | undefined
  let program: string | undefined
  await past.each(streamId, page.floor, page.head, entries => {
    for (const { sequence, origin, chunk } of entries) {
      if (isGuest(origin) || origin.runId !== runId || origin.agentId !== runId) continue
      if (chunk.type === 'run-started') {
        program = chunk.program
        if (step === 0) toSequence = sequence - 1
      } else if (step > 0 && chunk.type === 'checkpoint-created' && isEnd(chunk, origin, step)) toSequence = sequence
    }
  })
  if (toSequence === undefined || program === undefined) {
    throw new LogError('refused', `run ${runId ?? '(none)'} of ${streamId} has no end of step ${step} to go back to`)
  }
  return { toSequence, program, head: page.head }
}

const isEnd = (chunk: { stepCount?: number; closesStep?: boolean }, origin: WriterOrigin, step: number): boolean =>
  (chunk.stepCount ?? origin.step) === step && chunk.closesStep !== false

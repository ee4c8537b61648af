// The verbs of the Helix page that end, pause and resume the open run of a log. An end is never refused (law 6): an output
// that is too large is left out and reported, a text that is too long is shortened.

import { type Chunk, isGuest, type Json, type WriterOrigin } from '@millrace/protocol'
import { excerpt, MAIN_LANE } from '@millrace/protocol/internal'
import type { LogHistory } from '../read/log-history.ts'
import type { NewEntry } from '../store/entry.ts'
import { LogError } from '../store/log-error.ts'
import type { Accepted, LogStore } from '../store/log-store.ts'
import {
  type Checkpoint,
  mustStop,
  pauseOf,
  pendingKey,
  resumedChunk,
  stopStatus,
  type Ticket,
} from '../ticket/ticket.ts'
import type { Claims } from '../write/claims.ts'
import type { BatchLike } from '../write/lane.ts'
import { lastCheckpoint } from '../write/last-checkpoint.ts'
import type { Writer } from '../write/writer.ts'

/** Why a run failed. */
export type RunFailure = Omit<Extract<Chunk, { type: 'error' }>, 'type'>

/** Bounds of the batch that ends a run. */
interface EndBounds {
  readonly store: Pick<LogStore, 'maxBatchBytes'>
  readonly maxEntryBytes: number
}

/** The status of a run that ends without failing. */
export type EndStatus = 'completed' | 'interrupted' | 'aborted'

/** Ends the open run: as completed, or as interrupted or aborted if a stop was requested. Returns the status. @throws LogError `refused` if no run is open. */
export async function endStream(
  claims: Claims,
  bounds: EndBounds,
  streamId: string,
  output: Json | undefined,
): Promise<EndStatus> {
  let status: EndStatus = 'completed'
  await decide(claims, streamId, (_, writer) => {
    // A run without any entry yet starts and ends in one batch.
    const { begun } = writer
    if (begun.run === null) throw new LogError('refused', `no run of ${streamId} is open: there is nothing to end`)
    status = endStatus(begun)
    return endOf(status, output, writer.main.origin, bounds)
  })
  return status
}

/** Ends the open run as failed. @throws LogError `refused` if no run is open. */
export async function failStream(
  claims: Claims,
  { maxEntryBytes }: EndBounds,
  streamId: string,
  error: string | RunFailure,
): Promise<void> {
  const chunks = failureOf(error, maxEntryBytes)
  await decide(claims, streamId, (_, { begun }) => {
    if (begun.run === null) throw new LogError('refused', `no run of ${streamId} is open: there is nothing to fail`)
    return chunks
  })
}

/**
 * Pauses the open run. Returns false if it is paused already, or if a pending that this process's writer still saw open
 * was settled meanwhile.
 * @throws LogError `refused` if no run is open.
 */
export async function pauseStream(
  claims: Claims,
  history: LogHistory,
  streamId: string,
  reason: string | undefined,
): Promise<boolean> {
  const awaited = claims.ownWriter(streamId)?.ticket.pendings.map(pendingKey) ?? []
  const done = await claims.with(streamId, async writer => {
    const checkpoint = writer.checkpoint ?? (await checkpointOfRun(history, writer))
    return writer.decide(({ run, pendings }) => {
      if (run === null) throw new LogError('refused', `no run of ${streamId} is open: there is nothing to pause`)
      const open = new Set(pendings.map(pendingKey))
      if (!awaited.every(key => open.has(key))) return undefined
      return run.paused ? undefined : [pauseOf(pendings, { reason, checkpoint })]
    })
  })
  return done !== undefined
}

/** The last checkpoint on the main lane of the open run, by its entries: another writer may have made it. */
async function checkpointOfRun(
  history: LogHistory,
  { streamId, ticket, cursor }: Writer,
): Promise<Checkpoint | undefined> {
  const { view } = await history.current(streamId)
  const run = view.runs.find(({ runId }) => runId === ticket.run?.runId)
  if (run === undefined) return undefined
  const { runId } = run
  let lane: string = MAIN_LANE
  let found: Checkpoint | undefined
  await history.forEachBatch(streamId, run.at - 1, cursor.sequence, entries => {
    for (const { chunk, origin } of entries)
      if (chunk.type === 'run-started' && !isGuest(origin) && origin.runId === runId) lane = origin.lane
    found = lastCheckpoint(entries, { runId, lane, agentId: runId }) ?? found
  })
  return found
}

/** Resumes the paused run. Returns false if it is not paused. */
export async function resumeStream(claims: Claims, streamId: string): Promise<boolean> {
  const done = await decide(claims, streamId, ({ run }) => (run?.paused ? [resumedChunk(run)] : undefined))
  return done !== undefined
}

function decide(
  claims: Claims,
  streamId: string,
  build: (ticket: Ticket, writer: Writer) => BatchLike | undefined,
): Promise<Accepted | undefined> {
  return claims.with(streamId, writer => writer.decide(ticket => build(ticket, writer)))
}

/** The status with which a run ends now: a run that was asked to stop is not completed. */
const endStatus = (ticket: Ticket): EndStatus => (mustStop(ticket) ? stopStatus(ticket) : 'completed')

/** The chunks that end a run without a failure. */
function endOf(
  status: EndStatus,
  output: Json | undefined,
  origin: WriterOrigin,
  { store, maxEntryBytes }: EndBounds,
): Chunk[] {
  const last: Chunk = status === 'completed' ? { type: 'finish' } : { type: 'abort' }
  return [
    ...outputOf(output, origin, Math.min(maxEntryBytes, store.maxBatchBytes / 2)),
    last,
    { type: 'run-finished', status },
  ]
}

function outputOf(output: Json | undefined, origin: WriterOrigin, maxBytes: number): Chunk[] {
  if (output === undefined) return []
  const chunk: Chunk = { type: 'output', output }
  const bytes = bytesOf({ origin, chunk })
  if (bytes <= maxBytes) return [chunk]
  const message = `the output of ${bytes} bytes was left out`
  return [{ type: 'error', code: 'too-large', message, recoverable: true }]
}

function bytesOf(entry: NewEntry): number {
  try {
    return Buffer.byteLength(JSON.stringify(entry))
  } catch (error) {
    const found = error instanceof RangeError ? 'a value that is nested too deeply' : 'a cycle or a BigInt'
    throw new LogError('invalid', `output: expected JSON, found ${found}`, { cause: error })
  }
}

/** The chunks that end a run as failed. Takes an `Error` and everything else with a message. */
function failureOf(failure: string | RunFailure, maxEntryBytes: number): Chunk[] {
  const details = (typeof failure === 'string' ? { message: failure } : (failure ?? {})) as {
    [K in keyof RunFailure]: unknown
  }
  const { message, code, category, retryable, recoverable } = details
  if (typeof message !== 'string') {
    throw new LogError('invalid', `failStream: expected a message, found ${message === null ? 'null' : typeof message}`)
  }
  // Each text has a share of the entry, of characters with up to six bytes.
  const excerptOf = (text: string) => excerpt(text, Math.floor(maxEntryBytes / 48))
  const reason = excerptOf(message)
  const error: Chunk = {
    type: 'error',
    message: reason,
    ...(typeof code === 'string' && { code: excerptOf(code) }),
    ...(typeof category === 'string' && { category: excerptOf(category) }),
    ...(typeof retryable === 'boolean' && { retryable }),
    ...(typeof recoverable === 'boolean' && { recoverable }),
  }
  return [error, { type: 'finish' }, { type: 'run-finished', status: 'failed', reason }]
}

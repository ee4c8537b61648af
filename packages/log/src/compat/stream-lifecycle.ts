// How a run ends, as the batch that says so. An end is never refused (law 6): what is too large is left out and named, or cut short.

import type { Chunk, Json, WriterOrigin } from '@millrace/protocol'
import type { NewEntry } from '../store/entry.ts'
import { LogError } from '../store/log-error.ts'
import type { LogStore } from '../store/log-store.ts'
import { mustStop, stopStatus, type Ticket } from '../ticket/ticket.ts'

/** What went wrong, for people and programs. */
export type Failure = Omit<Extract<Chunk, { type: 'error' }>, 'type'>

/** How large what is said at the end may be. */
export interface EndBounds {
  readonly store: Pick<LogStore, 'maxBatchBytes'>
  readonly maxEntryBytes: number
}

/** How a run that did not fail ended. */
export type EndStatus = 'completed' | 'interrupted' | 'aborted'

/** How a run ends that did not fail: as it was asked to stop, where it was. */
export const endStatus = (ticket: Ticket): EndStatus => (mustStop(ticket) ? stopStatus(ticket) : 'completed')

/** The end of a run that did not fail. */
export function endOf(
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
    const found = error instanceof RangeError ? 'one nested too deeply' : 'a cycle or a BigInt'
    throw new LogError('invalid', `output: expected JSON, found ${found}`, { cause: error })
  }
}

/** The end of a run that failed, with what is known of why: of an `Error` or whatever else has a message. */
export function failureOf(failure: string | Failure, maxEntryBytes: number): Chunk[] {
  const said = (typeof failure === 'string' ? { message: failure } : (failure ?? {})) as {
    [K in keyof Failure]: unknown
  }
  const { message, code, category, retryable, recoverable } = said
  if (typeof message !== 'string') {
    throw new LogError('invalid', `failStream: expected a message, found ${message === null ? 'null' : typeof message}`)
  }
  // Each text has a share of the entry, of characters with up to six bytes.
  const cut = (text: string) => shortened(text, Math.floor(maxEntryBytes / 48))
  const reason = cut(message)
  const error: Chunk = {
    type: 'error',
    message: reason,
    ...(typeof code === 'string' && { code: cut(code) }),
    ...(typeof category === 'string' && { category: cut(category) }),
    ...(typeof retryable === 'boolean' && { retryable }),
    ...(typeof recoverable === 'boolean' && { recoverable }),
  }
  return [error, { type: 'finish' }, { type: 'run-finished', status: 'failed', reason }]
}

function shortened(text: string, length: number): string {
  if (text.length <= length) return text
  // Half a character at the end is none.
  return `${text.slice(0, length - 1).replace(/[\ud800-\udbff]$/, '')}…`
}

// How a run ends, as the batch that says so. An end is never refused (law 6): what is too large is left out and named, or cut short.

import type { Chunk, Json } from '@millrace/protocol'
import { LogError } from '../error.ts'
import { mustStop, type Ticket } from '../ticket/ticket.ts'

/** What went wrong, for people and programs. */
export type Failure = Omit<Extract<Chunk, { type: 'error' }>, 'type'>

/** How a run ends that did not fail: as aborted, where it was asked to stop. */
export const endStatus = (ticket: Ticket): 'completed' | 'aborted' => (mustStop(ticket) ? 'aborted' : 'completed')

/** The end of a run that did not fail. */
export function endOf(status: 'completed' | 'aborted', output: Json | undefined, maxEntryBytes: number): Chunk[] {
  const last: Chunk = status === 'aborted' ? { type: 'abort' } : { type: 'finish' }
  return [...outputOf(output, maxEntryBytes), last, { type: 'run-finished', status }]
}

function outputOf(output: Json | undefined, maxEntryBytes: number): Chunk[] {
  if (output === undefined) return []
  const chunk: Chunk = { type: 'output', output }
  const bytes = bytesOf(chunk)
  if (bytes <= maxEntryBytes / 2) return [chunk]
  const message = `the output of ${bytes} bytes was left out`
  return [{ type: 'error', code: 'too-large', message, recoverable: true }]
}

function bytesOf(chunk: Chunk): number {
  try {
    return Buffer.byteLength(JSON.stringify(chunk))
  } catch (error) {
    throw new LogError('invalid', 'output: expected JSON, found a cycle or a BigInt', { cause: error })
  }
}

/** The end of a run that failed. */
export function failureOf({ message, code, category, ...rest }: Failure, maxEntryBytes: number): Chunk[] {
  // Each text has a share of the entry, of characters with up to six bytes.
  const cut = (text: string) => shortened(text, Math.floor(maxEntryBytes / 48))
  const reason = cut(message)
  const error: Chunk = {
    type: 'error',
    ...rest,
    message: reason,
    ...(code !== undefined && { code: cut(code) }),
    ...(category !== undefined && { category: cut(category) }),
  }
  return [error, { type: 'finish' }, { type: 'run-finished', status: 'failed', reason }]
}

function shortened(text: string, length: number): string {
  if (text.length <= length) return text
  // Half a character at the end is none.
  return `${text.slice(0, length - 1).replace(/[\ud800-\udbff]$/, '')}…`
}

import type { Chunk } from '@millrace/protocol'
import { textOf } from './event-to-chunk.ts'

/** What came of a call. */
export type ResultChunk = Extract<
  Chunk,
  { type: 'tool-output-available' | 'tool-output-error' | 'tool-output-denied' | 'tool-input-error' }
>

/** What becomes of a call that nobody has settled when the run ends. */
export const UNSETTLED = 'The run ended before this call did.'

/** What came of a call, in words. */
export function resultText(chunk: ResultChunk): string {
  if (chunk.type === 'tool-output-available') return textOf(chunk.output)
  if (chunk.type !== 'tool-output-denied') return chunk.errorText
  return chunk.reason === undefined ? 'The call was denied.' : `The call was denied: ${chunk.reason}`
}

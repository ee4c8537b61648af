import type { Chunk } from '@millrace/protocol'

/** A chunk after which nothing comes of a call any more. */
export type ToolResultChunk = Extract<
  Chunk,
  { type: 'tool-output-available' | 'tool-output-error' | 'tool-output-denied' | 'tool-input-error' }
>

/** Whether a chunk says what came of a call, for good. */
export const isToolResult = (chunk: Chunk): chunk is ToolResultChunk =>
  chunk.type === 'tool-output-error' ||
  chunk.type === 'tool-output-denied' ||
  chunk.type === 'tool-input-error' ||
  (chunk.type === 'tool-output-available' && !chunk.preliminary)

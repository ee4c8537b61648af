import type { Chunk } from '@millrace/protocol'

/** The last chunk of a tool call. */
export type ToolResultChunk = Extract<
  Chunk,
  { type: 'tool-output-available' | 'tool-output-error' | 'tool-output-denied' | 'tool-input-error' }
>

/** Whether a chunk is the final result of a tool call. */
export const isToolResult = (chunk: Chunk): chunk is ToolResultChunk =>
  chunk.type === 'tool-output-error' ||
  chunk.type === 'tool-output-denied' ||
  chunk.type === 'tool-input-error' ||
  (chunk.type === 'tool-output-available' && !chunk.preliminary)

/** The error text of a call that has no result when its run ends. */
export const UNSETTLED_RESULT = 'The run ended before this call did.'

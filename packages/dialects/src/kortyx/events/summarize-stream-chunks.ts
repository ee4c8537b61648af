import type { KortyxChunk, StructuredDataChunk } from '../types.ts'
import { textIdOf } from './event-to-chunk.ts'

/** A complete stream as one value. */
export interface BufferedStreamResult {
  readonly chunks: readonly KortyxChunk[]
  /** The text. Consecutive texts are separated by a space. */
  readonly text: string
  readonly structured: readonly StructuredDataChunk[]
}

/** Summarizes the chunks of a stream. Complete messages count only if no text was streamed. */
export function summarizeStreamChunks(chunks: readonly KortyxChunk[]): Omit<BufferedStreamResult, 'chunks'> {
  const streamedText: string[] = []
  const messages: string[] = []
  const structured: StructuredDataChunk[] = []
  let last: string | undefined
  let endsWithSpace = true
  for (const chunk of chunks) {
    if (chunk.type === 'text-delta') {
      const id = textIdOf(chunk)
      if (id !== last && !endsWithSpace && !/^\s/.test(chunk.delta)) streamedText.push(' ')
      streamedText.push(chunk.delta)
      if (chunk.delta !== '') endsWithSpace = /\s$/.test(chunk.delta)
      last = id
    } else if (chunk.type === 'message') messages.push(chunk.content)
    else if (chunk.type === 'structured-data') structured.push(chunk)
  }
  return { text: (last === undefined ? messages : streamedText).join(''), structured }
}

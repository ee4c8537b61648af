import type { KortyxChunk, StructuredDataChunk } from './chunk.ts'
import { textIdOf } from './chunk.ts'

/** A stream that is over, as one value. */
export interface BufferedStreamResult {
  readonly chunks: readonly KortyxChunk[]
  /** What was said; texts that follow each other without a space between them get one. */
  readonly text: string
  readonly structured: readonly StructuredDataChunk[]
}

/** What the chunks of a stream come to. Whole messages count where nothing was said word by word. */
export function summarizeStreamChunks(chunks: readonly KortyxChunk[]): Omit<BufferedStreamResult, 'chunks'> {
  const pieces: string[] = []
  const whole: string[] = []
  const structured: StructuredDataChunk[] = []
  let last: string | undefined
  let isSpaced = true
  for (const chunk of chunks) {
    if (chunk.type === 'text-delta') {
      const id = textIdOf(chunk)
      if (id !== last && !isSpaced && !/^\s/.test(chunk.delta)) pieces.push(' ')
      pieces.push(chunk.delta)
      if (chunk.delta !== '') isSpaced = /\s$/.test(chunk.delta)
      last = id
    } else if (chunk.type === 'message') whole.push(chunk.content)
    else if (chunk.type === 'structured-data') structured.push(chunk)
  }
  return { text: (last === undefined ? whole : pieces).join(''), structured }
}

// One long answer, produced token by token, that readers read from its beginning at any time.
import { strictEqual } from 'node:assert/strict'

/** Producer of an answer. */
export interface Producer {
  /** Produces the complete answer. Resolves with its length in characters when it has been consumed. */
  produce(): Promise<number>
}

/** A connected reader of an answer. */
export interface AnswerReader {
  /** Resolves with the requested length of text. */
  text: Promise<string>
}

/** Through our log, or through resumable-stream, which carries strings: plain tokens, or one SSE event per token. */
export type Way = 'ours' | 'tokens' | 'events'

/** Opens a producer for one piece of work. The stream stays open after the last token. */
export async function openProducer(way: Way, streamId: string, count: number, workIndex: number): Promise<Producer> {
  if (way === 'ours') return (await import('./answer-ours.ts')).openProducer(streamId, count, workIndex)
  return (await import('./answer-resumable.ts')).openProducer(way, streamId, count, workIndex)
}

/** Opens a reader for one piece of work. Resolves when it is connected. */
export async function openReader(way: Way, streamId: string, length: number): Promise<AnswerReader> {
  if (way === 'ours') return (await import('./answer-ours.ts')).openReader(streamId, length)
  return (await import('./answer-resumable.ts')).openReader(streamId, length)
}

/** The text of one piece of work as readers receive it. */
export async function textOf(way: Way, count: number, workIndex: number): Promise<string> {
  const { deltas } = (await import('../../fixtures/text.ts')).answer(count, workIndex)
  if (way !== 'events') return deltas.join('')
  return deltas.map((await import('./answer-resumable.ts')).eventOf).join('')
}

/** @throws unless each of `readers` readers has received the complete text. */
export async function checkTexts(
  texts: readonly string[],
  way: Way,
  readers: number,
  count: number,
  workIndex: number,
): Promise<void> {
  const expected = await textOf(way, count, workIndex)
  strictEqual(texts.length, readers)
  for (const text of texts)
    strictEqual(text === expected, true, `expected ${expected.length} characters, received ${text.length}`)
}

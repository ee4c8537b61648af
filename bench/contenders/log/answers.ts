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
export type AnswerTransport = 'ours' | 'tokens' | 'events'

/** Opens a producer for one piece of work. The stream stays open after the last token. */
export async function openProducer(
  transport: AnswerTransport,
  streamId: string,
  count: number,
  workIndex: number,
): Promise<Producer> {
  if (transport === 'ours') return (await import('./answer-ours.ts')).openProducer(streamId, count, workIndex)
  return (await import('./answer-resumable.ts')).openProducer(transport, streamId, count, workIndex)
}

/** Opens a reader for one piece of work. Resolves when it is connected. */
export async function openReader(transport: AnswerTransport, streamId: string, length: number): Promise<AnswerReader> {
  if (transport === 'ours') return (await import('./answer-ours.ts')).openReader(streamId, length)
  return (await import('./answer-resumable.ts')).openReader(streamId, length)
}

/** The text of one piece of work as readers receive it. */
export async function textOf(transport: AnswerTransport, count: number, workIndex: number): Promise<string> {
  const { deltas } = (await import('../../fixtures/text.ts')).answer(count, workIndex)
  if (transport !== 'events') return deltas.join('')
  return deltas.map((await import('./answer-resumable.ts')).eventOf).join('')
}

/** @throws unless each of `readers` readers has received the complete text. */
export async function checkTexts(
  texts: readonly string[],
  transport: AnswerTransport,
  readers: number,
  count: number,
  workIndex: number,
): Promise<void> {
  const expected = await textOf(transport, count, workIndex)
  strictEqual(texts.length, readers)
  for (const text of texts)
    strictEqual(text === expected, true, `expected ${expected.length} characters, received ${text.length}`)
}

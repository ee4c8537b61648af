// One long answer that somebody tells, token by token, and that others hear, from its beginning, whenever they come.
import { strictEqual } from 'node:assert/strict'

/** An answer that can be told. */
export interface Telling {
  /** Says it all; resolves when all of it has been taken, with the number of characters. */
  tell(): Promise<number>
}

/** Who has come to hear an answer. */
export interface Hearing {
  /** As much of the text as was asked for, once it is there. */
  text: Promise<string>
}

/** Through our log, or through resumable-stream, which carries strings: the bare tokens, or an event each as a chat's server sends them. */
export type Way = 'ours' | 'tokens' | 'events'

/** Makes the answer of one piece of work ready to be told; when all is said, the stream stays open. */
export async function openTelling(way: Way, streamId: string, count: number, piece: number): Promise<Telling> {
  if (way === 'ours') return (await import('./answer-ours.ts')).openTelling(streamId, count, piece)
  return (await import('./answer-resumable.ts')).openTelling(way, streamId, count, piece)
}

/** Comes to hear the answer of one piece of work; resolves when it has been let in. */
export async function hear(way: Way, streamId: string, length: number): Promise<Hearing> {
  if (way === 'ours') return (await import('./answer-ours.ts')).hear(streamId, length)
  return (await import('./answer-resumable.ts')).hear(streamId, length)
}

/** The text of one piece of work as it is heard. */
export async function textOf(way: Way, count: number, piece: number): Promise<string> {
  const { deltas } = (await import('../../fixtures/text.ts')).answer(count, piece)
  if (way !== 'events') return deltas.join('')
  return deltas.map((await import('./answer-resumable.ts')).eventOf).join('')
}

/** Throws unless each of so many readers has heard all of it. */
export async function checkTexts(
  texts: readonly string[],
  way: Way,
  readers: number,
  count: number,
  piece: number,
): Promise<void> {
  const whole = await textOf(way, count, piece)
  strictEqual(texts.length, readers)
  for (const text of texts) strictEqual(text === whole, true, `of ${whole.length} characters ${text.length} were heard`)
}

// The fold as its callers use it: batches from a decoder, a ReadableStream, a reader in every frame.
import { strictEqual } from 'node:assert/strict'
import { type Entry, Fold, type TextMark, type View } from '@millrace/protocol'
import { answer, answerBatches, answerEntries, checkText, historyEntries, readAll, streamOf } from '../fixtures/text.ts'
import { type Job, job } from '../harness/suite.ts'

/** Reads during the fold: none, the view after every batch, or the changes after every batch, like a store. */
export type ReadMode = 'nothing' | 'views' | 'changes'

/** Folds one answer in batches of `size` entries into a conversation with `history` messages. Returns the final view. */
export function foldBatches(count: number, workIndex: number, size: number, readMode: ReadMode, history = 0): Job {
  const work = answerBatches(count, workIndex, history, size)
  const fold = foldOf(history)
  return job(
    () => {
      for (const batch of work) {
        fold.apply(batch)
        if (readMode === 'views') fold.view()
        else if (readMode === 'changes') for (const id of fold.takeChanges().messages.keys()) fold.message(id)
      }
      return fold.view()
    },
    view => checkAnswer(view, count, workIndex, history),
  )
}

/** Folds one answer from a stream, entry by entry. */
export function foldStream(count: number, workIndex: number): Job {
  const entries = answerEntries(count, workIndex, 0)
  return job(
    async () => {
      const fold = new Fold()
      await readAll(streamOf(entries), entry => fold.apply([entry]))
      return fold.view()
    },
    view => checkAnswer(view, count, workIndex, 0),
  )
}

/** Reads the stream and drops it. */
export function readStream(count: number, workIndex: number): Job {
  const entries = answerEntries(count, workIndex, 0)
  return job(
    async () => {
      let entryCount = 0
      await readAll(streamOf(entries), () => {
        entryCount++
      })
      return entryCount
    },
    found => strictEqual(found, entries.length),
  )
}

/** Folds one answer, `size` entries per frame, and reads the complete text after every frame. */
export function foldReadFullText(count: number, workIndex: number, size: number): Job {
  const work = answerBatches(count, workIndex, 0, size)
  return job(
    () => {
      const fold = new Fold()
      let characters = 0
      for (const batch of work) {
        fold.apply(batch)
        characters += readCharacter(textOf(fold.view()) ?? '')
      }
      return { view: fold.view(), characters }
    },
    ({ view, characters }) => {
      checkAnswer(view, count, workIndex, 0)
      if (characters === 0) throw new Error('expected text in the view, found none')
    },
  )
}

/** One answer, `size` entries per frame, with a reader of the new text in every frame. */
export function foldReadNewText(count: number, workIndex: number, size: number): Job {
  const work = answerBatches(count, workIndex, 0, size)
  return job(
    () => {
      let length = 0
      let characters = 0
      forEachNewText(work, text => {
        length += text.length
        characters += readCharacter(text)
      })
      return { length, characters }
    },
    ({ length, characters }) => {
      const texts: string[] = []
      forEachNewText(work, text => texts.push(text))
      checkText(texts.join(''), answer(count, workIndex))
      strictEqual(length, answer(count, workIndex).length)
      if (characters === 0) throw new Error('expected text in the view, found none')
    },
  )
}

function forEachNewText(work: readonly Entry[][], onText: (text: string) => void): void {
  const fold = new Fold()
  let position: { message: string; part: string } | undefined
  let mark: TextMark | undefined
  for (const batch of work) {
    fold.apply(batch)
    position ??= positionOf(fold.view())
    const gained = position && fold.textSince(position.message, position.part, mark)
    if (!gained) continue
    mark = gained.mark
    onText(gained.text)
  }
}

/** Floor: string concatenation by the same frames, with a reader of the complete string. */
export function concatReadFullText(count: number, workIndex: number, size: number): Job {
  const work = answerBatches(count, workIndex, 0, size)
  return job(
    () => {
      let text = ''
      let characters = 0
      for (const batch of work) {
        for (const { chunk } of batch) if (chunk.type === 'text-delta') text += chunk.delta
        characters += readCharacter(text)
      }
      return { text, characters }
    },
    ({ text }) => checkText(text, answer(count, workIndex)),
  )
}

/** Floor: string concatenation by the same entries. */
export function concat(count: number, workIndex: number): Job {
  const entries = answerEntries(count, workIndex, 0)
  return job(
    () => {
      let text = ''
      for (const { chunk } of entries) if (chunk.type === 'text-delta') text += chunk.delta
      return text
    },
    text => checkText(text, answer(count, workIndex)),
  )
}

function foldOf(history: number): Fold {
  const fold = new Fold()
  fold.apply(historyEntries(history))
  strictEqual(fold.view().messages.length, history)
  return fold
}

/** Reads one character, which forces the engine to flatten the concatenated string. */
function readCharacter(text: string): number {
  return text === '' ? 0 : text.charCodeAt(text.length >> 1)
}

function textOf(view: View): string | undefined {
  const part = view.messages.at(-1)?.parts[0]
  return part?.type === 'text' ? part.text : undefined
}

function positionOf(view: View): { message: string; part: string } | undefined {
  const message = view.messages.at(-1)
  const part = message?.parts[0]
  return message && part && { message: message.id, part: part.key }
}

function checkAnswer(view: View, count: number, workIndex: number, history: number): void {
  checkText(textOf(view), answer(count, workIndex))
  strictEqual(view.messages.length, history + 1)
  strictEqual(view.messages.at(-1)?.status, 'sent')
}

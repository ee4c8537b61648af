import type { Chunk } from '@millrace/protocol'
import type { DecodedChunk } from '../dialect/dialect.ts'

/** Compares deltas with a text that was received before. */
export class RepeatedText {
  #rest: string

  constructor(text: string) {
    this.#rest = text
  }

  /** Whether the deltas have repeated all of the text. */
  get isRepeated(): boolean {
    return this.#rest === ''
  }

  /** Returns the part of a delta that goes beyond the text, '' for none. Undefined if the delta differs from the text. */
  take(delta: string): string | undefined {
    const rest = this.#rest
    if (rest.startsWith(delta)) {
      this.#rest = rest.slice(delta.length)
      return ''
    }
    if (!delta.startsWith(rest)) return undefined
    this.#rest = ''
    return delta.slice(rest.length)
  }
}

const isDelta = (chunk: Chunk): chunk is Chunk & { delta: string } =>
  'delta' in chunk && typeof chunk.delta === 'string'

/** All of a chunk except the text of a delta. */
const headOf = (chunk: Chunk): string => JSON.stringify(isDelta(chunk) ? { ...chunk, delta: '' } : chunk)

/** The chunks of a reply so far. Successive deltas are joined, so that it does not matter how a server splits its text. */
export class ReceivedChunks {
  readonly all: { readonly head: string; text?: string }[] = []
  /** Amount received: the length of each text, and 1 for any other chunk. */
  size = 0

  add(chunks: readonly DecodedChunk[]): void {
    for (const { chunk } of chunks) {
      const head = headOf(chunk)
      const last = this.all.at(-1)
      this.size += isDelta(chunk) ? chunk.delta.length : 1
      if (!isDelta(chunk)) this.all.push({ head })
      else if (last?.text !== undefined && last.head === head) last.text += chunk.delta
      else this.all.push({ head, text: chunk.delta })
    }
  }

  clear(): void {
    this.all.length = 0
    this.size = 0
  }
}

/** Removes the chunks from a resumed reply that it repeats from the start of the reply. */
export class ReplayFilter {
  readonly #received: ReceivedChunks['all']
  #index = 0
  #text: RepeatedText

  constructor({ all }: ReceivedChunks) {
    this.#received = all.slice()
    this.#text = new RepeatedText(all[0]?.text ?? '')
  }

  /** Returns the new chunks. Undefined if the reply differs from the chunks received before. */
  take(chunks: readonly DecodedChunk[]): readonly DecodedChunk[] | undefined {
    const newChunks: DecodedChunk[] = []
    for (const one of chunks) {
      const rest = this.#withoutRepeat(one)
      if (rest === undefined) return undefined
      if (rest) newChunks.push(rest)
    }
    return newChunks
  }

  /** A chunk without what it repeats. False if all of it is a repeat, undefined if it differs. */
  #withoutRepeat(decoded: DecodedChunk): DecodedChunk | false | undefined {
    const { chunk } = decoded
    const head = headOf(chunk)
    let expected = this.#received[this.#index]
    // Another chunk ends a text that was repeated to its end.
    if (expected?.text !== undefined && expected.head !== head && this.#text.isRepeated) expected = this.#next()
    if (!expected) return decoded
    if (expected.head !== head) return undefined
    if (expected.text === undefined || !isDelta(chunk)) {
      this.#next()
      return false
    }
    const delta = this.#text.take(chunk.delta)
    if (delta === '') return false
    // Only the last received text can continue.
    if (delta === undefined || this.#next()) return undefined
    return { ...decoded, chunk: { ...chunk, delta } as Chunk }
  }

  #next(): ReceivedChunks['all'][number] | undefined {
    const expected = this.#received[++this.#index]
    this.#text = new RepeatedText(expected?.text ?? '')
    return expected
  }
}

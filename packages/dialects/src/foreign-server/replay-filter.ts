import type { Chunk } from '@millrace/protocol'
import type { DecodedChunk } from '../dialect/dialect.ts'

const isDelta = (chunk: Chunk): chunk is Chunk & { delta: string } =>
  'delta' in chunk && typeof chunk.delta === 'string'

/** All of a chunk but the words of a delta. */
const headOf = (chunk: Chunk): string => JSON.stringify(isDelta(chunk) ? { ...chunk, delta: '' } : chunk)

/** What a reply said, with deltas in a row joined: who says it again in other pieces says the same. */
export class ReceivedChunks {
  readonly all: { readonly head: string; text?: string }[] = []
  /** How much that is: words count as they are long, and anything else as one. */
  size = 0

  add(told: readonly DecodedChunk[]): void {
    for (const { chunk } of told) {
      const head = headOf(chunk)
      const last = this.all.at(-1)
      this.size += isDelta(chunk) ? chunk.delta.length : 1
      if (!isDelta(chunk)) this.all.push({ head })
      else if (last?.text !== undefined && last.head === head) last.text += chunk.delta
      else this.all.push({ head, text: chunk.delta })
    }
  }

  /** Nothing of it is so any more. */
  clear(): void {
    this.all.length = 0
    this.size = 0
  }
}

/** Leaves out of a reply what another said before; knows when the two are not the same. */
export class ReplayFilter {
  readonly #said: ReceivedChunks['all']
  #at = 0
  /** How much of the text at that place was said again. */
  #length = 0

  constructor(said: ReceivedChunks) {
    this.#said = said.all.slice()
  }

  /** What is news of what is said; undefined where it is not what was said before. */
  take(told: readonly DecodedChunk[]): readonly DecodedChunk[] | undefined {
    const news: DecodedChunk[] = []
    for (const one of told) {
      const left = this.#left(one)
      if (left === undefined) return undefined
      if (left) news.push(left)
    }
    return news
  }

  #left(told: DecodedChunk): DecodedChunk | false | undefined {
    const { chunk } = told
    const head = headOf(chunk)
    let known = this.#said[this.#at]
    // A text that was said again wholly is over where something else comes.
    if (known?.text !== undefined && known.head !== head && this.#length === known.text.length) known = this.#next()
    if (!known) return told
    if (known.head !== head) return undefined
    if (known.text === undefined || !isDelta(chunk)) {
      this.#next()
      return false
    }
    const rest = known.text.slice(this.#length)
    const { delta } = chunk
    if (rest.startsWith(delta)) {
      this.#length += delta.length
      return false
    }
    // Only the last that was said can go on.
    if (!delta.startsWith(rest) || this.#next()) return undefined
    return { ...told, chunk: { ...chunk, delta: delta.slice(rest.length) } as Chunk }
  }

  #next(): ReceivedChunks['all'][number] | undefined {
    this.#length = 0
    return this.#said[++this.#at]
  }
}

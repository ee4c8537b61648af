import type { Chunk } from '@millrace/protocol'
import { adapterId, distinctId } from './chat-message.ts'

type TextKind = 'text' | 'reasoning'

/** The text and reasoning parts of one reply, by the ids that the adapter gives them: nothing follows the end of a part under its id. */
export class TextParts {
  readonly #fold: (chunk: Chunk) => void
  /** The parts that are open, as the fold knows them. */
  readonly #open = { text: new Map<string, string>(), reasoning: new Map<string, string>() }
  readonly #used = new Set<string>()
  /** What a stream that goes on may tell again, and what it is telling again. */
  readonly #repeatable = new Map<string, string>()
  readonly #replays = new Map<string, TextReplay>()

  constructor(fold: (chunk: Chunk) => void) {
    this.#fold = fold
  }

  /** There is such a part, and it has ended. */
  use(kind: TextKind, id: string): void {
    this.#used.add(`${kind}:${id}`)
  }

  /** A part gets longer, and opens if need be; false where that was told before. */
  grow(kind: TextKind, chunk: { readonly type: string; readonly id: string; readonly delta: string }): boolean {
    const replay = this.#replays.size > 0 ? this.#replays.get(`${kind}:${chunk.id}`) : undefined
    if (replay && !replay.isOver) {
      const delta = replay.take(chunk.delta)
      return delta !== '' && this.grow(kind, { ...chunk, delta })
    }
    const id = this.#open[kind].get(chunk.id) ?? this.#begin(kind, chunk.id)
    this.#fold((id === chunk.id ? chunk : { ...chunk, id }) as Chunk)
    return chunk.delta !== ''
  }

  /** A part begins: maybe again, in a stream that goes on. */
  start(kind: TextKind, given: string): void {
    const key = `${kind}:${given}`
    const text = this.#repeatable.get(key)
    this.#repeatable.delete(key)
    if (text === undefined) this.#begin(kind, given)
    else this.#replays.set(key, new TextReplay(text))
  }

  /** Opens a part, unless it is open; under an id that had its end, another one. */
  #begin(kind: TextKind, given: string): string {
    const open = this.#open[kind]
    const known = open.get(given)
    if (known !== undefined) return known
    const id = this.#used.has(`${kind}:${given}`) ? distinctId(given, this.#used.size) : given
    this.use(kind, id)
    open.set(given, id)
    this.#fold({ type: `${kind}-start`, id })
    return id
  }

  end(kind: TextKind, given: string): void {
    const replay = this.#replays.get(`${kind}:${given}`)
    this.#replays.delete(`${kind}:${given}`)
    const news = replay?.end() ?? ''
    if (news !== '') this.grow(kind, { type: `${kind}-delta`, id: given, delta: news })
    const id = this.#open[kind].get(given)
    if (id === undefined) return
    this.#open[kind].delete(given)
    this.#fold({ type: `${kind}-end`, id })
  }

  /** Ends all that are open. */
  endAll(): void {
    this.#repeatable.clear()
    for (const kind of ['text', 'reasoning'] as const) {
      for (const given of [...this.#open[kind].keys()]) this.end(kind, given)
    }
    this.#replays.clear()
  }

  /** Another stream goes on: one that may begin with what the one before told. */
  resume(textOf: (key: string) => string | undefined): void {
    this.#replays.clear()
    for (const key of this.#used) {
      // Of several under one id the first may come again; nothing tells the others apart.
      const text = adapterId(key) === key ? textOf(key) : undefined
      if (text !== undefined && text !== '') this.#repeatable.set(key, text)
    }
  }
}

/**
 * A text that a stream which goes on may tell again from its beginning: what is there already is left out. Where it says something else
 * than what is there, it was no repeat, and all of it is news.
 */
class TextReplay {
  #rest: string
  #repeated = ''

  constructor(text: string) {
    this.#rest = text
  }

  /** Whether it told all that is there. */
  get isOver(): boolean {
    return this.#rest === ''
  }

  /** What of it is news. */
  take(delta: string): string {
    const rest = this.#rest
    if (delta.startsWith(rest)) {
      this.#rest = ''
      return delta.slice(rest.length)
    }
    this.#repeated += delta
    if (rest.startsWith(delta)) {
      this.#rest = rest.slice(delta.length)
      return ''
    }
    return this.end()
  }

  /** What of it was news after all, since it ends before it told all that is there. */
  end(): string {
    const news = this.#rest === '' ? '' : this.#repeated
    this.#rest = ''
    return news
  }
}

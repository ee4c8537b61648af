import { distinctId, foreignId, RepeatedText } from '@millrace/dialects/internal'
import type { Chunk } from '@millrace/protocol'

type TextKind = 'text' | 'reasoning'

/**
 * The text and reasoning parts of one reply, by the adapter's ids. An id that is reused after its part has ended names another part. A second start of an open part
 * continues it: unlike a foreign server's decoder, an adapter may repeat the start when it resumes.
 */
export class TextParts {
  readonly #fold: (chunk: Chunk) => void
  /** Ids of the open parts, by the adapter's ids. */
  readonly #open = { text: new Map<string, string>(), reasoning: new Map<string, string>() }
  /** Kind and id of all parts so far. */
  readonly #usedKeys = new Set<string>()
  /** Texts that a resumed stream may repeat, and those that it is repeating. */
  readonly #repeatable = new Map<string, string>()
  readonly #replays = new Map<string, TextReplay>()

  constructor(fold: (chunk: Chunk) => void) {
    this.#fold = fold
  }

  /** Registers the id of a part as used. */
  register(kind: TextKind, id: string): void {
    this.#usedKeys.add(`${kind}:${id}`)
  }

  /** Appends to a part, and opens it if needed. Returns false if the delta only repeats known text. */
  append(kind: TextKind, chunk: { readonly type: string; readonly id: string; readonly delta: string }): boolean {
    const replay = this.#replays.size > 0 ? this.#replays.get(`${kind}:${chunk.id}`) : undefined
    if (replay && !replay.isOver) {
      const delta = replay.take(chunk.delta)
      return delta !== '' && this.append(kind, { ...chunk, delta })
    }
    const id = this.#open[kind].get(chunk.id) ?? this.#begin(kind, chunk.id)
    this.#fold((id === chunk.id ? chunk : { ...chunk, id }) as Chunk)
    return chunk.delta !== ''
  }

  /** Starts a part, or a repeat of it in a resumed stream. */
  start(kind: TextKind, adapterId: string): void {
    const key = `${kind}:${adapterId}`
    const text = this.#repeatable.get(key)
    this.#repeatable.delete(key)
    if (text === undefined) this.#begin(kind, adapterId)
    else this.#replays.set(key, new TextReplay(text))
  }

  #begin(kind: TextKind, adapterId: string): string {
    const open = this.#open[kind]
    const openId = open.get(adapterId)
    if (openId !== undefined) return openId
    const id = this.#usedKeys.has(`${kind}:${adapterId}`) ? distinctId(adapterId, this.#usedKeys.size) : adapterId
    this.register(kind, id)
    open.set(adapterId, id)
    this.#fold({ type: `${kind}-start`, id })
    return id
  }

  end(kind: TextKind, adapterId: string): void {
    const replay = this.#replays.get(`${kind}:${adapterId}`)
    this.#replays.delete(`${kind}:${adapterId}`)
    const delta = replay?.end() ?? ''
    if (delta !== '') this.append(kind, { type: `${kind}-delta`, id: adapterId, delta })
    const id = this.#open[kind].get(adapterId)
    if (id === undefined) return
    this.#open[kind].delete(adapterId)
    this.#fold({ type: `${kind}-end`, id })
  }

  endAll(): void {
    this.#repeatable.clear()
    for (const kind of ['text', 'reasoning'] as const) {
      for (const adapterId of [...this.#open[kind].keys()]) this.end(kind, adapterId)
    }
    this.#replays.clear()
  }

  /** Prepares for a resumed stream, which may repeat the parts so far. */
  resume(textOf: (key: string) => string | undefined): void {
    this.#replays.clear()
    for (const key of this.#usedKeys) {
      // If several parts share an id, only the first can be recognised.
      const text = foreignId(key) === key ? textOf(key) : undefined
      if (text !== undefined && text !== '') this.#repeatable.set(key, text)
    }
  }
}

/** A part that a resumed stream starts again. Its known text is dropped. If the stream turns out to send another text, all of that is new. */
class TextReplay {
  readonly #text: RepeatedText
  #repeated = ''
  #isOver = false

  constructor(text: string) {
    this.#text = new RepeatedText(text)
  }

  /** Whether all that follows is new. */
  get isOver(): boolean {
    return this.#isOver || this.#text.isRepeated
  }

  /** The new text of a delta. */
  take(delta: string): string {
    const newText = this.#text.take(delta)
    if (newText !== undefined && this.#text.isRepeated) return newText
    this.#repeated += delta
    return newText ?? this.end()
  }

  /** Ends the part. Returns the deltas so far if they were no full repeat, or else an empty text. */
  end(): string {
    const newText = this.isOver ? '' : this.#repeated
    this.#isOver = true
    return newText
  }
}

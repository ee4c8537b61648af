import type { LogFile } from './file.ts'

/** How often a watched file is looked at for what other connections wrote, in milliseconds. */
const INTERVAL = 25
/** After a look at many logs so many times as long as it took passes before the next, so that looking takes a small part of the time. */
const REST = 4
const LONGEST_REST = 500
/** How many streams are looked at in one turn of the event loop. */
const SLICE = 256

const STATE = `
SELECT s.incarnation || '.' || s.epochs || '.' || (s.epoch IS NULL) || '.' || s.floor,
  (SELECT max(place) & 0xffffffff FROM batches WHERE place BETWEEN s.id << 32 AND (s.id << 32) | 0xffffffff)
FROM streams s WHERE s.name = ?`

interface WatchedLog {
  readonly wakes: Set<{ readonly wake: () => void }>
  /** What was last seen of the log but its head; undefined where that is not known. */
  state: string | undefined
  head: number
}

/** Looks at the file at once; undefined where that cannot be. */
export type Peek = <T>(look: (file: LogFile) => T) => T | undefined

/** Wakes who watches: at once for what this handle does, within the interval for what others do. */
export class SqliteWatchers {
  readonly #peek: Peek
  readonly #streams = new Map<string, WatchedLog>()
  #timer: NodeJS.Timeout | undefined
  #version: number | undefined
  #isLooking = false
  #restUntil = 0

  constructor(peek: Peek) {
    this.#peek = peek
  }

  watch(streamId: string, wake: () => void): () => void {
    let watched = this.#streams.get(streamId)
    if (watched === undefined) {
      watched = { wakes: new Set(), state: undefined, head: 0 }
      this.#streams.set(streamId, watched)
      this.#see(streamId, watched)
      // What cannot be seen now must be looked at as soon as it can be.
      if (watched.state === undefined) this.#version = undefined
    }
    const own = { wake }
    watched.wakes.add(own)
    this.#timer ??= setInterval(() => void this.#poll(), INTERVAL).unref()
    return () => this.#stop(streamId, watched, own)
  }

  /** Wakes for an append by this handle, which is then not news to the next look. */
  appended(streamId: string, head: number): void {
    const watched = this.#streams.get(streamId)
    if (watched === undefined) return
    watched.head = head
    wakeAll(watched)
  }

  /** Wakes for any other change by this handle. */
  changed(streamId: string): void {
    const watched = this.#streams.get(streamId)
    if (watched === undefined) return
    watched.state = undefined
    wakeAll(watched)
  }

  /** Wakes everyone. */
  allChanged(): void {
    for (const streamId of [...this.#streams.keys()]) this.changed(streamId)
  }

  /** Wakes everyone for the last time. */
  close(): void {
    const all = [...this.#streams.values()]
    this.#streams.clear()
    this.#rest()
    for (const watched of all) wakeAll(watched)
  }

  #rest(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #stop(streamId: string, watched: WatchedLog, own: { readonly wake: () => void }): void {
    watched.wakes.delete(own)
    if (watched.wakes.size > 0 || this.#streams.get(streamId) !== watched) return
    this.#streams.delete(streamId)
    if (this.#streams.size === 0) this.#rest()
  }

  async #poll(): Promise<void> {
    if (this.#isLooking || performance.now() < this.#restUntil) return
    const version = this.#peek(file => file.dataVersion())
    if (version === undefined || version === this.#version) return
    // Noted before the look: what is written during it gives another version, and another look.
    this.#version = version
    this.#isLooking = true
    const began = performance.now()
    let seen = 0
    for (const [streamId, watched] of this.#streams) {
      if (++seen % SLICE === 0) await new Promise(resolve => setImmediate(resolve))
      if (this.#see(streamId, watched)) wakeAll(watched)
    }
    this.#isLooking = false
    const end = performance.now()
    this.#restUntil = end + Math.min(REST * (end - began), LONGEST_REST)
  }

  /** Looks at a log, and tells whether it is not as it was seen before. */
  #see(streamId: string, watched: WatchedLog): boolean {
    const seen = this.#peek(file => file.row<[string, number | null]>(STATE, streamId) ?? (['', 0] as const))
    if (seen === undefined) {
      this.#version = undefined
      return false
    }
    const [state, head] = [seen[0], seen[1] ?? 0]
    const isNew = watched.state !== state || watched.head !== head
    watched.state = state
    watched.head = head
    return isNew
  }
}

function wakeAll({ wakes }: WatchedLog): void {
  for (const { wake } of [...wakes]) wake()
}

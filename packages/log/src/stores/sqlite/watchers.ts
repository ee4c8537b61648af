import type { Wake } from '../../store/log-store.ts'
import type { LogFile } from './log-file.ts'

/** How often a watched file is checked for changes of other connections, in ms. */
const POLL_MS = 25
/** After a poll of many logs, the next poll waits this many times as long as the poll took, up to a limit in ms. */
const PAUSE_FACTOR = 4
const MAX_PAUSE_MS = 500
/** How many streams are checked in one turn of the event loop. */
const STREAMS_PER_TURN = 256

const STATE = `
SELECT s.incarnation || '.' || s.epochs || '.' || (s.epoch IS NULL) || '.' || s.floor,
  (SELECT max(place) & 0xffffffff FROM batches WHERE place BETWEEN s.id << 32 AND (s.id << 32) | 0xffffffff)
FROM streams s WHERE s.name = ?`

interface WatchedLog {
  readonly wakes: Set<{ readonly wake: Wake }>
  /** The state last read, except the head; undefined if unknown. */
  state: string | undefined
  head: number
}

/** Reads the file synchronously; undefined if that is not possible now. */
export type Peek = <T>(look: (file: LogFile) => T) => T | undefined

/** Wakes watchers: at once for changes of this handle, within the interval for changes of others. */
export class SqliteWatchers {
  readonly #peek: Peek
  readonly #streams = new Map<string, WatchedLog>()
  #timer: NodeJS.Timeout | undefined
  #version: number | undefined
  #isPolling = false
  #pausedUntil = 0

  constructor(peek: Peek) {
    this.#peek = peek
  }

  watch(streamId: string, wake: Wake): () => void {
    let watched = this.#streams.get(streamId)
    if (watched === undefined) {
      watched = { wakes: new Set(), state: undefined, head: 0 }
      this.#streams.set(streamId, watched)
      this.#readState(streamId, watched)
      // A state that cannot be read now must be read by the next poll.
      if (watched.state === undefined) this.#version = undefined
    }
    const watcher = { wake }
    watched.wakes.add(watcher)
    this.#timer ??= setInterval(() => void this.#poll(), POLL_MS).unref()
    return () => this.#stop(streamId, watched, watcher)
  }

  /** Wakes for an append of this handle, unless a poll has reported it already. The next poll does not report it again. */
  appended(streamId: string, head: number): void {
    const watched = this.#streams.get(streamId)
    if (watched === undefined || (watched.state !== undefined && watched.head >= head)) return
    watched.head = head
    wakeAll(watched, head)
  }

  /** Wakes for any other change by this handle. */
  changed(streamId: string): void {
    const watched = this.#streams.get(streamId)
    if (watched === undefined) return
    watched.state = undefined
    wakeAll(watched)
  }

  /** Wakes all watchers. */
  allChanged(): void {
    for (const streamId of [...this.#streams.keys()]) this.changed(streamId)
  }

  /** Wakes all watchers for the last time. */
  close(): void {
    const all = [...this.#streams.values()]
    this.#streams.clear()
    this.#stopTimer()
    for (const watched of all) wakeAll(watched)
  }

  #stopTimer(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #stop(streamId: string, watched: WatchedLog, watcher: { readonly wake: Wake }): void {
    watched.wakes.delete(watcher)
    if (watched.wakes.size > 0 || this.#streams.get(streamId) !== watched) return
    this.#streams.delete(streamId)
    if (this.#streams.size === 0) this.#stopTimer()
  }

  async #poll(): Promise<void> {
    if (this.#isPolling || performance.now() < this.#pausedUntil) return
    const version = this.#peek(file => file.dataVersion())
    if (version === undefined || version === this.#version) return
    // Stored before the poll: a write during it gives another version, and so another poll.
    this.#version = version
    this.#isPolling = true
    const startedAt = performance.now()
    let checked = 0
    for (const [streamId, watched] of this.#streams) {
      if (++checked % STREAMS_PER_TURN === 0) await new Promise(resolve => setImmediate(resolve))
      const change = this.#readState(streamId, watched)
      if (change !== 'none') wakeAll(watched, change === 'appends' ? watched.head : undefined)
    }
    this.#isPolling = false
    const end = performance.now()
    this.#pausedUntil = end + Math.min(PAUSE_FACTOR * (end - startedAt), MAX_PAUSE_MS)
  }

  /** Reads a log's state. Returns what has changed since the last read: nothing, by appends only, or anything else. */
  #readState(streamId: string, watched: WatchedLog): 'none' | 'appends' | 'other' {
    const row = this.#peek(file => file.row<[string, number | null]>(STATE, streamId) ?? (['', 0] as const))
    if (row === undefined) {
      this.#version = undefined
      return 'none'
    }
    const [state, head] = [row[0], row[1] ?? 0]
    const isOther = watched.state !== state || head < watched.head
    const isAppend = head > watched.head
    watched.state = state
    watched.head = head
    if (isOther) return 'other'
    return isAppend ? 'appends' : 'none'
  }
}

function wakeAll({ wakes }: WatchedLog, head?: number): void {
  for (const { wake } of [...wakes]) wake(head)
}

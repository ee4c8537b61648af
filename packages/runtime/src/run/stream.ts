import { mustStop, type ReadEntry, type StreamInfo, type StreamManager } from '@millrace/log'
import { encodeCursor } from '@millrace/protocol'
import { checkGiven } from '../options.ts'
import { withLog } from './refusal.ts'
import { type Standing, takenBack } from './standing.ts'

export interface StreamOptions {
  /** Goes on after this place: a cursor, or a sequence. */
  readonly after?: string | number
  readonly signal?: AbortSignal
}

/** Where and how a run is read. */
export interface Source {
  readonly manager: StreamManager
  readonly sessionId: string
  readonly runId: string
  readonly standing: () => Promise<Standing>
  /** What was taken back too, and from wherever the log still reaches. */
  readonly whole?: boolean
}

/** Timers know no longer time. */
const LONGEST_MS = 2 ** 31 - 1

/** The entries of a run, to its end or pause. However it is left, everything is let go, also while it waits. */
export class RunStream implements AsyncIterableIterator<ReadEntry> {
  readonly #left = new AbortController()
  readonly #entries: AsyncGenerator<ReadEntry, void, void>
  readonly #sessionId: string

  constructor(source: Source, options: StreamOptions = {}) {
    checkGiven('options', options)
    this.#sessionId = source.sessionId
    const signals = [this.#left.signal, ...(options.signal ? [options.signal] : [])]
    this.#entries = entriesOf(source, options.after, AbortSignal.any(signals))
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<ReadEntry, undefined>> {
    // Whoever waits for a run lives to see it, though what drives it may be another process, or keep none alive.
    const alive = setInterval(() => {}, LONGEST_MS)
    try {
      const { done, value } = await withLog(this.#sessionId, () => this.#entries.next())
      return done ? { done: true, value: undefined } : { done: false, value }
    } catch (error) {
      if (this.#left.signal.aborted) return { done: true, value: undefined }
      throw error
    } finally {
      clearInterval(alive)
    }
  }

  async return(): Promise<IteratorResult<ReadEntry, undefined>> {
    // One that waits for the next entry would wait for it still.
    this.#left.abort()
    await this.#entries.return().catch(() => {})
    return { done: true, value: undefined }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return()
  }
}

async function* entriesOf(
  { manager, sessionId, runId, standing, whole }: Source,
  place: string | number | undefined,
  signal: AbortSignal,
): AsyncGenerator<ReadEntry, void, void> {
  let stands = await standing()
  let after = place ?? (whole ? Math.max(stands.from, stands.floor) : stands.from)
  for (;;) {
    // What a later run took back is not shown to those who come late, and yet it was this run.
    const isWhole = whole || stands.isCut
    const reader = manager.readBatches(sessionId, { after, runId, whole: isWhole, signal })
    let isWaiting = !stands.hasBegun
    let isPaused = false
    try {
      // Looked for once, not at each pause on the way there.
      let pause = await pauseOf(manager, sessionId, runId)
      if (pause && isHead(after, pause)) return
      for (let piece = await reader.next(); piece; piece = await reader.next()) {
        for (const entry of piece.entries) {
          const { chunk, origin, sequence } = entry
          if (pause && sequence > pause.head) return
          if (origin.guest === undefined) isWaiting = false
          if (chunk.type === 'run-paused') isPaused = true
          if (chunk.type === 'run-resumed') isPaused = false
          const cursor = encodeCursor(reader.placeAt(sequence))
          after = cursor
          yield { ...entry, cursor }
          if (chunk.type === 'run-finished') return
          if (chunk.type === 'stop-requested' && isWaiting) throw takenBack(runId)
          signal.throwIfAborted()
        }
        if (!pause && isPaused && piece.isCaughtUp) pause = await pauseOf(manager, sessionId, runId)
        if (pause && piece.sequence >= pause.head) return
      }
    } finally {
      reader.close()
    }
    if (isWhole) return
    // Its end is none of what was read: it lies before the place, or was taken back after the look at where the run stands.
    stands = await standing()
    if (!stands.isCut) return
  }
}

/** The session as it is while a run waits; undefined where it goes on, or will as soon as somebody drives it: it was answered, or is to stop. */
async function pauseOf(manager: StreamManager, sessionId: string, runId: string): Promise<StreamInfo | undefined> {
  const info = await manager.getInfo(sessionId)
  const { run, ready } = info?.ticket ?? {}
  return info && run?.runId === runId && run.paused && !ready && !mustStop(info.ticket) ? info : undefined
}

/** Whether a place is surely the head: nothing lies after it that would be read, and whose reading would prove it. */
const isHead = (place: string | number, { head, incarnation, mark }: StreamInfo): boolean =>
  String(place) === String(head) || place === encodeCursor({ sequence: head, incarnation, epoch: mark })

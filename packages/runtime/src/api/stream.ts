import type { StreamInfo, StreamManager } from '@millrace/log'
import { mustStop, type ReadEntry } from '@millrace/log/internal'
import { decodeCursor, type Entry, encodeCursor } from '@millrace/protocol'
import { MAX_TIMER_MS } from '../async/max-timer-ms.ts'
import { checkObject } from '../error/check-object.ts'
import { withLog } from '../session/log-errors.ts'
import { type RunLocation, takenBack } from './run-location.ts'

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
  readonly locate: () => Promise<RunLocation>
  /** What was taken back too, and from wherever the log still reaches. */
  readonly whole?: boolean
}

/** Timers know no longer time. */

/** The entries of a run, to its end or pause. However it is left, everything is let go, also while it waits. */
export class RunStream implements AsyncIterableIterator<ReadEntry> {
  readonly #left = new AbortController()
  readonly #entries: AsyncGenerator<ReadEntry, void, void>
  readonly #sessionId: string

  constructor(source: Source, options: StreamOptions = {}) {
    checkObject('options', options)
    this.#sessionId = source.sessionId
    const signals = [this.#left.signal, ...(options.signal ? [options.signal] : [])]
    this.#entries = entriesOf(source, { ...options, signal: AbortSignal.any(signals) })
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<ReadEntry, undefined>> {
    // Whoever waits for a run lives to see it, though what drives it may be another process, or keep none alive.
    const alive = setInterval(() => {}, MAX_TIMER_MS)
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

/** A piece of a run: all that is shown of it in `(after, sequence]`. */
export interface RunPiece {
  readonly after: number
  readonly sequence: number
  /** The place at `sequence`. */
  readonly cursor: string
  readonly entries: readonly Entry[]
  /** The place at one of its entries, unless deltas were merged; asked for in order. */
  cursorAt(sequence: number): string
}

export interface PieceOptions extends StreamOptions {
  /** Merges deltas while catching up. */
  readonly merge?: boolean
  /** Also discards, without their words, that lie before who reads came: for folds, since usage only goes forward (law 3). */
  readonly rewound?: boolean
  /** All that the log has of the run, also what was taken back before who reads came: for who has read it as it was, and goes on. */
  readonly whole?: boolean
  /** How much of the log is read at once while catching up, about, in bytes. */
  readonly pageBytes?: number
}

async function* entriesOf(source: Source, options: StreamOptions): AsyncGenerator<ReadEntry, void, void> {
  for await (const { entries, cursorAt } of piecesOf(source, options)) {
    for (const entry of entries) {
      yield { ...entry, cursor: cursorAt(entry.sequence) }
      options.signal?.throwIfAborted()
    }
  }
}

/** A run piece by piece, for who passes it on: to its end or pause. Throws where its request is taken back while it waits. */
export async function* piecesOf(
  { manager, sessionId, runId, locate, whole }: Source,
  { after: place, signal, merge = false, rewound = false, pageBytes }: PieceOptions,
): AsyncGenerator<RunPiece, void, void> {
  let location = await locate()
  let after = place ?? (whole ? Math.max(location.from, location.floor) : location.from)
  const how = { runId, merge, rewound, ...(pageBytes !== undefined && { pageBytes }), ...(signal && { signal }) }
  for (;;) {
    // What a later run took back is not shown to those who come late, and yet it was this run.
    const isWhole = whole || location.isCut
    const reader = manager.readBatches(sessionId, { ...how, after, whole: isWhole })
    const cursorAt = (sequence: number): string => encodeCursor(reader.placeAt(sequence))
    let isWaiting = !location.hasBegun
    let isPaused = false
    try {
      // Looked for once, not at each pause on the way there.
      let pause = await pauseOf(manager, sessionId, runId)
      if (pause && isHead(after, pause)) return
      for (let piece = await reader.next(); piece; piece = await reader.next()) {
        // The session may have been deleted and created again meanwhile: the pause of another log says nothing about this one.
        if (pause && decodeCursor(piece.cursor).incarnation !== pause.incarnation) pause = undefined
        const shown: Entry[] = []
        let { sequence, cursor } = piece
        let isOver = false
        let isTakenBack = false
        for (const entry of piece.entries) {
          const { chunk, origin } = entry
          if (pause && entry.sequence > pause.head) {
            ;({ sequence, cursor } = placeOf(pause))
            isOver = true
            break
          }
          if (origin.guest === undefined) isWaiting = false
          if (chunk.type === 'run-paused') isPaused = true
          if (chunk.type === 'run-resumed') isPaused = false
          shown.push(entry)
          isTakenBack = chunk.type === 'stop-requested' && isWaiting
          if (chunk.type === 'run-finished' || isTakenBack) {
            sequence = entry.sequence
            cursor = cursorAt(sequence)
            isOver = true
            break
          }
        }
        if (shown.length > 0) {
          const { sequence: reached } = decodeCursor(after)
          after = cursor
          yield { after: reached, sequence, cursor, entries: shown, cursorAt }
        }
        if (isTakenBack) throw takenBack(runId)
        if (isOver) return
        if (!pause && isPaused && piece.isCaughtUp) pause = await pauseOf(manager, sessionId, runId)
        if (pause && piece.sequence >= pause.head) return
      }
    } finally {
      reader.close()
    }
    if (isWhole) return
    // Its end is none of what was read: it lies before the place, or was taken back after the look at where the run location.
    location = await locate()
    if (!location.isCut) return
  }
}

/** The session as it is while a run waits; undefined where it goes on, or will as soon as somebody drives it: it was answered, or is to stop. */
async function pauseOf(manager: StreamManager, sessionId: string, runId: string): Promise<StreamInfo | undefined> {
  const info = await manager.getInfo(sessionId)
  const { run, ready } = info?.ticket ?? {}
  return info && run?.runId === runId && run.paused && !ready && !mustStop(info.ticket) ? info : undefined
}

/** The head of a session as a place. */
const placeOf = ({ head, incarnation, mark }: StreamInfo) => ({
  sequence: head,
  cursor: encodeCursor({ sequence: head, incarnation, epoch: mark }),
})

/** Whether a place is surely the head: nothing lies after it that would be read, and whose reading would prove it. */
const isHead = (place: string | number, info: StreamInfo): boolean =>
  String(place) === String(info.head) || place === placeOf(info).cursor

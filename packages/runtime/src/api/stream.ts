import type { ReadEntry, StreamInfo, StreamManager } from '@millrace/log'
import { MAX_TIMER_MS, mustStop } from '@millrace/log/internal'
import { decodeCursor, type Entry, encodeCursor } from '@millrace/protocol'
import { checkObject } from '../error/check-object.ts'
import { withLog } from '../session/log-errors.ts'
import { cancelledError, type RunLocation } from './run-location.ts'

/** Options of `run.stream`. */
export interface StreamOptions {
  /** Starts after this position: a cursor or a sequence. @default the start of the run */
  readonly after?: string | number
  /** Aborts the stream, not the run. @default none */
  readonly signal?: AbortSignal
}

/** The run that a stream reads. */
export interface StreamSource {
  readonly manager: StreamManager
  readonly sessionId: string
  readonly runId: string
  readonly locate: () => Promise<RunLocation>
  /** Includes rewound entries, and starts at the first entry that is left. */
  readonly includeDiscarded?: boolean
}

/** The entries of a run, to its end or pause. Leaving the loop releases all resources, also while waiting. */
export class RunStream implements AsyncIterableIterator<ReadEntry> {
  readonly #closed = new AbortController()
  readonly #entries: AsyncGenerator<ReadEntry, void, void>
  readonly #sessionId: string

  constructor(source: StreamSource, options: StreamOptions = {}) {
    checkObject('options', options)
    this.#sessionId = source.sessionId
    const signals = [this.#closed.signal, ...(options.signal ? [options.signal] : [])]
    this.#entries = entriesOf(source, { ...options, signal: AbortSignal.any(signals) })
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** Reads the next entry. Waits while the reader may still get one. */
  async next(): Promise<IteratorResult<ReadEntry, undefined>> {
    // Keeps the process alive while it waits, because the driver may be in another process or have only unref'd timers.
    const keepAlive = setInterval(() => {}, MAX_TIMER_MS)
    try {
      const { done, value } = await withLog(this.#sessionId, () => this.#entries.next())
      return done ? { done: true, value: undefined } : { done: false, value }
    } catch (error) {
      if (this.#closed.signal.aborted) return { done: true, value: undefined }
      throw error
    } finally {
      clearInterval(keepAlive)
    }
  }

  /** Closes the stream. */
  async return(): Promise<IteratorResult<ReadEntry, undefined>> {
    // The abort also ends a pending `next`.
    this.#closed.abort()
    await this.#entries.return().catch(() => {})
    return { done: true, value: undefined }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return()
  }
}

/** A batch of a run's stream: all visible entries of the run in `(after, sequence]`. */
export interface RunPiece {
  readonly after: number
  readonly sequence: number
  /** The cursor at `sequence`. */
  readonly cursor: string
  readonly entries: readonly Entry[]
  /** The last sequence that was in the log when the stream was opened. Entries up to it are a replay. */
  readonly replayEnd: number
  /** The cursor at one of the entries, unless deltas were merged. Call it in order. */
  cursorAt(sequence: number): string
}

/** Options of `run.pieces`. */
export interface PieceOptions extends StreamOptions {
  /** Merges deltas while catching up. @default false */
  readonly merge?: boolean
  /** Includes earlier discards without their content, for folds that count usage (law 3). @default false */
  readonly rewound?: boolean
  /** Includes entries that were rewound before, for readers that had read them. @default false */
  readonly includeDiscarded?: boolean
  /** Approximate number of bytes to read at a time while catching up. @default the default of the log */
  readonly pageBytes?: number
}

async function* entriesOf(source: StreamSource, options: StreamOptions): AsyncGenerator<ReadEntry, void, void> {
  for await (const { entries, cursorAt } of piecesOf(source, options)) {
    for (const entry of entries) {
      yield { ...entry, cursor: cursorAt(entry.sequence) }
      options.signal?.throwIfAborted()
    }
  }
}

/** Streams a run in batches, to its end or pause. @throws {RunError} `run_taken_back` if its request is cancelled. */
export async function* piecesOf(
  { manager, sessionId, runId, locate, includeDiscarded }: StreamSource,
  { after: position, signal, merge = false, rewound = false, pageBytes }: PieceOptions,
): AsyncGenerator<RunPiece, void, void> {
  let location = await locate()
  let after = position ?? (includeDiscarded ? Math.max(location.from, location.floor) : location.from)
  const readOptions = {
    runId,
    merge,
    rewound,
    ...(pageBytes !== undefined && { pageBytes }),
    ...(signal && { signal }),
  }
  for (;;) {
    // Entries that a later run rewound are normally hidden, but they belong to this run.
    const readsDiscarded = includeDiscarded || location.isRewound
    const reader = manager.readBatches(sessionId, { ...readOptions, after, includeDiscarded: readsDiscarded })
    const cursorAt = (sequence: number): string => encodeCursor(reader.cursorAt(sequence))
    let isWaiting = !location.hasStarted
    let isPaused = false
    let isReplay = true
    try {
      // Looked up once, because the log may contain many earlier pauses of the run.
      let pause = await pauseOf(manager, sessionId, runId)
      if (pause && isHead(after, pause)) return
      for (let batch = await reader.next(); batch; batch = await reader.next()) {
        // The session may have been deleted and created again: the pause of another incarnation is not valid.
        if (pause && decodeCursor(batch.cursor).incarnation !== pause.incarnation) pause = undefined
        const entries: Entry[] = []
        let { sequence, cursor } = batch
        let isOver = false
        let isCancelled = false
        for (const entry of batch.entries) {
          const { chunk, origin } = entry
          if (pause && entry.sequence > pause.head) {
            ;({ sequence, cursor } = positionOf(pause))
            isOver = true
            break
          }
          if (origin.guest === undefined) isWaiting = false
          if (chunk.type === 'run-paused') isPaused = true
          if (chunk.type === 'run-resumed') isPaused = false
          entries.push(entry)
          isCancelled = chunk.type === 'stop-requested' && isWaiting
          if (chunk.type === 'run-finished' || isCancelled) {
            sequence = entry.sequence
            cursor = cursorAt(sequence)
            isOver = true
            break
          }
        }
        // The end of the replay is reported, also if its last entries are not for this reader.
        const endsReplay: boolean = isReplay && sequence >= batch.replayEnd
        isReplay &&= !endsReplay
        if (entries.length > 0 || endsReplay) {
          const { sequence: previous } = decodeCursor(after)
          after = cursor
          yield { after: previous, sequence, cursor, entries, replayEnd: batch.replayEnd, cursorAt }
        }
        if (isCancelled) throw cancelledError(runId)
        if (isOver) return
        if (!pause && isPaused && batch.isCaughtUp) pause = await pauseOf(manager, sessionId, runId)
        if (pause && batch.sequence >= pause.head) return
      }
    } finally {
      reader.close()
    }
    if (readsDiscarded) return
    // The end was not read: it is before the position, or was rewound after the run was located.
    location = await locate()
    if (!location.isRewound) return
  }
}

/**
 * The session while a run waits. Undefined if it runs, or will run as soon as it is driven because it was answered or
 * stops.
 */
async function pauseOf(manager: StreamManager, sessionId: string, runId: string): Promise<StreamInfo | undefined> {
  const info = await manager.getInfo(sessionId)
  const { run, ready } = info?.ticket ?? {}
  return info && run?.runId === runId && run.paused && !ready && !mustStop(info.ticket) ? info : undefined
}

/** The head of a session as a position. */
const positionOf = ({ head, incarnation, mark }: StreamInfo) => ({
  sequence: head,
  cursor: encodeCursor({ sequence: head, incarnation, epoch: mark }),
})

/** Whether a position is the head for sure, so that nothing after it need be read to prove it. */
const isHead = (position: string | number, info: StreamInfo): boolean =>
  String(position) === String(info.head) || position === positionOf(info).cursor

import { mustStop, type ReadEntry, type StreamManager } from '@millrace/log'
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
    const reader = await manager.createResumableReader(sessionId, { after, runId, whole: isWhole, signal })
    let isWaiting = !stands.hasBegun
    let last: ReadEntry | undefined
    for await (const entry of reader) {
      const { chunk, origin } = entry
      if (origin.guest === undefined) isWaiting = false
      last = entry
      yield entry
      if (chunk.type === 'run-finished') return
      if (chunk.type === 'stop-requested' && isWaiting) throw takenBack(runId)
      if (chunk.type === 'run-paused' && (await isPausedSince(manager, sessionId, runId, entry.sequence))) return
    }
    if (isWhole) return
    // Its end is none of what was read: it lies before the place, or was taken back after the look at where the run stands.
    stands = await standing()
    if (!stands.isCut) return
    after = last?.cursor ?? after
  }
}

/** Whether a run still waits as it did at a place. */
async function isPausedSince(manager: StreamManager, sessionId: string, runId: string, at: number): Promise<boolean> {
  const info = await manager.getInfo(sessionId)
  const { run, ready } = info?.ticket ?? {}
  // One that was answered or is to stop goes on as soon as somebody drives it.
  if (!info || run?.runId !== runId || !run.paused || ready || mustStop(info.ticket)) return false
  const since = await manager.entries(sessionId, at, info.head)
  return !since.some(({ chunk, origin }) => chunk.type === 'run-resumed' && origin.runId === runId)
}

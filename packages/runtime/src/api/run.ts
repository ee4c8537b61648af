import type { StreamManager } from '@millrace/log'
import { checkObject } from '../error/check-object.ts'
import { isTruncated, withLog } from '../session/log-errors.ts'
import { type RunResult, resultOf } from './result.ts'
import { RunFold, runEntriesTo } from './run-fold.ts'
import { isLive, locateRun, type RunLocation } from './run-location.ts'
import { type PieceOptions, piecesOf, type RunPiece, RunStream, type StreamOptions } from './stream.ts'

/** Options of a stop. */
export interface StopOptions {
  /** `interrupt` allows to resume the run later; `abort` ends it. @default 'interrupt' */
  readonly mode?: 'interrupt' | 'abort'
  /** Reason, stored in the log. @default none */
  readonly reason?: string
}

/** The part of the runtime that a run uses. */
export interface RunHost {
  readonly manager: StreamManager
  stop(sessionId: string, runId: string, options: StopOptions): Promise<boolean>
}

/** A handle of a run. Any number of handles, in any process, refer to the same run. */
export class Run<Output = unknown> {
  /** Id of the session's log, unique in the store. `sessionIdOf` gives the id that the owner's clients use. */
  readonly sessionId: string
  /** Id of the run. */
  readonly runId: string
  readonly #host: RunHost
  /** Sequence of its request, if this handle requested it. */
  readonly requestedAt: number | undefined

  constructor(host: RunHost, sessionId: string, runId: string, requestedAt?: number) {
    this.#host = host
    this.sessionId = sessionId
    this.runId = runId
    this.requestedAt = requestedAt
  }

  /**
   * Streams the entries of the run from its start, or after a position, to its end or pause.
   * @throws {ValidationError} if an option is invalid.
   * @throws {RunError} when it is read: `run_taken_back` if its request is cancelled while it waits, `run_unknown`,
   * `session_unknown`, or `session_trimmed` if the log no longer holds the position.
   */
  stream(options: StreamOptions = {}): RunStream {
    const { sessionId, runId } = this
    const { manager } = this.#host
    return new RunStream({ manager, sessionId, runId, locate: () => this.#locate() }, options)
  }

  /**
   * Streams the run in batches, for servers that forward it.
   * @throws {RunError} `run_taken_back` if its request is cancelled while it waits.
   */
  pieces(options: PieceOptions = {}): AsyncGenerator<RunPiece, void, void> {
    checkObject('options', options)
    const { sessionId, runId } = this
    const { manager } = this.#host
    const { includeDiscarded } = options
    const source = {
      manager,
      sessionId,
      runId,
      locate: () => this.#locate(),
      ...(includeDiscarded && { includeDiscarded }),
    }
    return piecesOf(source, options)
  }

  /**
   * Checks that the run exists.
   * @throws {RunError} `run_unknown` if it was never requested, `run_taken_back` if its request was cancelled, or
   * `session_unknown`.
   */
  async ensureExists(): Promise<void> {
    await withLog(this.sessionId, () => this.#locate())
  }

  /**
   * Waits for the end or the pause of the run. `signal` aborts the wait, not the run.
   * @throws {RunError} `run_taken_back` if its request is cancelled while it waits, `run_unknown` or `session_unknown`.
   */
  async result(options: { readonly signal?: AbortSignal } = {}): Promise<RunResult<Output>> {
    checkObject('options', options)
    return withLog(this.sessionId, async () => (await this.#endedResult(options)) ?? this.#awaitedResult(options))
  }

  /**
   * Requests a stop of the run, or cancels its request. Returns false if the run has ended or was already stopped.
   * @throws {RunError} `run_unknown` or `session_unknown` if it does not exist.
   */
  stop(options: StopOptions = {}): Promise<boolean> {
    return this.#host.stop(this.sessionId, this.runId, options)
  }

  /** The result of an ended run that was requested by this handle. The session need not be read to find it. */
  async #endedResult({ signal }: StreamOptions): Promise<RunResult<Output> | undefined> {
    const { sessionId, runId } = this
    const { manager } = this.#host
    const info = await manager.getInfo(sessionId)
    const after = this.requestedAt
    if (info === null || after === undefined || after < info.floor || isLive(info.ticket, runId)) return undefined
    signal?.throwIfAborted()
    const fold = new RunFold(runId)
    try {
      for await (const entry of runEntriesTo(manager, sessionId, runId, after, info.head)) fold.add(entry)
    } catch (error) {
      if (isTruncated(error)) return undefined
      throw error
    }
    // Without an end, it never started, or the log was recreated.
    return fold.isEnded ? resultOf<Output>(sessionId, fold.view, runId, fold.output) : undefined
  }

  async #awaitedResult(options: StreamOptions): Promise<RunResult<Output>> {
    for (let location = await this.#locate(); ; ) {
      try {
        return await this.#result(location, options)
      } catch (error) {
        const now = isTruncated(error) ? await this.#locate() : undefined
        // Entries were trimmed during the read: uses the remaining ones.
        if (now === undefined || now.floor <= location.floor) throw error
        location = now
      }
    }
  }

  async #result(location: RunLocation, options: StreamOptions): Promise<RunResult<Output>> {
    const { sessionId, runId } = this
    const { manager } = this.#host
    const { from, floor, head, isEnded } = location
    const source = { manager, sessionId, runId, locate: async () => location, includeDiscarded: true }
    const after = Math.max(from, floor)
    const stream = isEnded ? runEntriesTo(manager, sessionId, runId, after, head) : new RunStream(source, options)
    const fold = new RunFold(runId)
    for await (const entry of stream) fold.add(entry)
    if (from >= floor) return resultOf<Output>(sessionId, fold.view, runId, fold.output)
    // If the start is trimmed, uses the view at the end of the run, or else the first view that is left.
    const { view } = await manager.view(sessionId, fold.last || floor)
    return resultOf<Output>(sessionId, view, runId, fold.output)
  }

  #locate(): Promise<RunLocation> {
    return locateRun(this.#host.manager, this.sessionId, this.runId, this.requestedAt)
  }
}

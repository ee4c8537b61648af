import type { ReadEntry, StreamManager } from '@millrace/log'
import { RunError } from '../error/error.ts'
import { type RunResult, resultOf } from './result.ts'

export interface StreamOptions {
  /** Goes on after this place: a cursor, or a sequence. */
  readonly after?: string | number
  readonly signal?: AbortSignal
}

export interface StopOptions {
  /** `interrupt` keeps the run so that it can be resumed; `abort` ends it for good. */
  readonly mode?: 'interrupt' | 'abort'
  readonly reason?: string
}

/** The longest time that a timer knows. */
const LONGEST_MS = 2 ** 31 - 1

/** What a run needs of its runtime. */
export interface RunHost {
  readonly manager: StreamManager
  stop(sessionId: string, runId: string, options: StopOptions): Promise<boolean>
}

/** A run, from wherever it is looked at: any number of these, in any process, are the same run. */
export class Run<Output = unknown> {
  readonly sessionId: string
  readonly runId: string
  readonly #host: RunHost

  constructor(host: RunHost, sessionId: string, runId: string) {
    this.#host = host
    this.sessionId = sessionId
    this.runId = runId
  }

  /** The entries of the run, from its start or a place on, to its end or pause. */
  async *stream(options: StreamOptions = {}): AsyncGenerator<ReadEntry, void, void> {
    // A process that waits for a run stays alive, though only others may have something to do for it.
    const hold = setInterval(() => {}, LONGEST_MS)
    try {
      const reader = await this.#host.manager.createResumableReader(this.sessionId, { ...options, runId: this.runId })
      for await (const entry of reader) {
        yield entry
        if (entry.chunk.type === 'run-paused' || entry.chunk.type === 'run-finished') return
      }
    } finally {
      clearInterval(hold)
    }
  }

  /** How the run ends, or what it waits for when it pauses. */
  async result(options: { readonly signal?: AbortSignal } = {}): Promise<RunResult<Output>> {
    const { manager } = this.#host
    let last = 0
    for await (const { sequence } of this.stream(options)) last = sequence
    const result = last === 0 ? undefined : await resultOf<Output>(manager, this.sessionId, this.runId, last)
    if (result) return result
    throw new RunError(
      'run_unknown',
      `run ${this.runId} of ${this.sessionId} did not start: its request was taken back`,
    )
  }

  /** Asks the run to stop, or takes its request back; false where it has ended already. */
  stop(options: StopOptions = {}): Promise<boolean> {
    return this.#host.stop(this.sessionId, this.runId, options)
  }
}

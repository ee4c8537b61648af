import { LogError, type StreamManager } from '@millrace/log'
import type { Json } from '@millrace/protocol'
import { type RunResult, resultOf } from './result.ts'
import { type Standing, standingOf } from './standing.ts'
import { RunStream, type StreamOptions } from './stream.ts'

export interface StopOptions {
  /** `interrupt` keeps the run so that it can be resumed; `abort` ends it for good. */
  readonly mode?: 'interrupt' | 'abort'
  readonly reason?: string
}

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
  readonly #requestedAt: number | undefined

  /** `requestedAt` is the sequence of its request, for who knows it. */
  constructor(host: RunHost, sessionId: string, runId: string, requestedAt?: number) {
    this.#host = host
    this.sessionId = sessionId
    this.runId = runId
    this.#requestedAt = requestedAt
  }

  /** The entries of the run, from its start or a place on, to its end or pause; throws where its request is taken back while it waits. */
  stream(options: StreamOptions = {}): RunStream {
    const { sessionId, runId } = this
    const { manager } = this.#host
    return new RunStream({ manager, sessionId, runId, standing: () => this.#standing() }, options)
  }

  /** How the run ends, or what it waits for when it pauses; throws where its request is taken back while it waits. */
  async result(options: { readonly signal?: AbortSignal } = {}): Promise<RunResult<Output>> {
    for (let standing = await this.#standing(); ; ) {
      try {
        return await this.#result(standing, options)
      } catch (error) {
        const now = error instanceof LogError && error.code === 'truncated' ? await this.#standing() : undefined
        // What was trimmed meanwhile is told from what is left.
        if (now === undefined || now.floor <= standing.floor) throw error
        standing = now
      }
    }
  }

  /** Asks the run to stop, or takes its request back; false where it has ended or somebody else was first. */
  stop(options: StopOptions = {}): Promise<boolean> {
    return this.#host.stop(this.sessionId, this.runId, options)
  }

  async #result(standing: Standing, options: StreamOptions): Promise<RunResult<Output>> {
    const { sessionId, runId } = this
    const { manager } = this.#host
    const source = { manager, sessionId, runId, standing: async () => standing, whole: true }
    let last: number | undefined
    let output: Json | undefined
    for await (const { sequence, chunk, origin } of new RunStream(source, options)) {
      last = sequence
      if (chunk.type === 'output' && origin.guest === undefined && origin.agentId === runId) output = chunk.output
    }
    // Of a run whose end is trimmed the first view that is left tells.
    const { view } = await manager.view(sessionId, last ?? standing.floor)
    return resultOf<Output>(sessionId, view, runId, output)
  }

  #standing(): Promise<Standing> {
    return standingOf(this.#host.manager, this.sessionId, this.runId, this.#requestedAt)
  }
}

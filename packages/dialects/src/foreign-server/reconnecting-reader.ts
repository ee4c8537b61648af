import { ProtocolError } from '@millrace/protocol'
import { RetryDelay, reconnecting } from '@millrace/protocol/retry'
import type { DecodedChunk, EndStatus } from '../dialect/dialect.ts'
import { RequestError } from '../http/request-error.ts'
import { RECONNECT } from '../http/resumable-stream.ts'
import type { ForeignReply, ForeignRequest, ForeignServer } from './foreign-server.ts'
import { ReceivedChunks, ReplayFilter } from './replay-filter.ts'

export interface ReplyListener {
  /** New chunks arrived. */
  received(chunks: readonly DecodedChunk[]): void
  /** Retracts all chunks of the reply: the next ones start it again. */
  restarted(): void
  /** The connection dropped. The reader reconnects if the server can resume. */
  dropped(reason: string): void
  /** The reader has reconnected. */
  resumed(): void
}

/**
 * Reads one reply of a foreign server to its end, over as many connections as it takes. A connection that closes before the reply says how it ends was dropped
 * (law 7). `ReplyReader` of the client does the same for adapters. An adapter numbers its chunks or repeats single texts, and reconnects at once, so the two share
 * `RetryDelay` and `RepeatedText`, but neither the order of chunks nor the comparison with earlier ones.
 */
export class ReconnectingReader {
  readonly #server: ForeignServer
  readonly #request: ForeignRequest
  readonly #listener: ReplyListener
  readonly #received = new ReceivedChunks()
  #reply: ForeignReply | undefined
  readonly #delay = new RetryDelay(RECONNECT)
  /** Largest amount ever received. A reply that starts again makes progress only beyond it. */
  #furthest = 0

  constructor(server: ForeignServer, request: ForeignRequest, listener: ReplyListener) {
    this.#server = server
    this.#request = request
    this.#listener = listener
  }

  get reply(): ForeignReply | undefined {
    return this.#reply
  }

  /** Reconnects now if it is waiting to. */
  wake(): void {
    this.#delay.wake()
  }

  /**
   * Returns how the reply ended. Undefined after an abort.
   * @throws a `RequestError` if the request was refused, or the reply is lost.
   */
  async run(first: () => Promise<ForeignReply> | ForeignReply): Promise<EndStatus | undefined> {
    const { signal } = this.#request
    const connect = () => this.#connect(first)
    try {
      const isFinal = () => true
      const lost = () => LOST
      for await (const chunks of reconnecting(connect, this.#delay, isFinal, lost, signal))
        this.#listener.received(chunks)
      return this.#reply?.status
    } catch (error) {
      if (signal.aborted) return undefined
      throw error instanceof ProtocolError ? new RequestError({ code: error.code, message: error.message }) : error
    }
  }

  /** Yields the new chunks of one connection. Returns false if it dropped. */
  async *#connect(
    first: () => Promise<ForeignReply> | ForeignReply,
  ): AsyncGenerator<readonly DecodedChunk[], boolean, undefined> {
    const { signal } = this.#request
    const before = this.#reply
    const reply = before ? await this.#resume(before) : await first()
    if (!reply) return false
    this.#reply = reply
    if (before) this.#listener.resumed()
    try {
      yield* this.#newChunks(reply)
    } catch (error) {
      if (error instanceof ProtocolError) throw error
    }
    if (signal.aborted) return false
    if (reply.status !== undefined) return true
    this.#listener.dropped(LOST.message)
    if (!this.#server.resume) throw LOST
    return false
  }

  /** Undefined if another attempt may succeed. */
  async #resume(dropped: ForeignReply): Promise<ForeignReply | undefined> {
    try {
      const reply = await this.#server.resume?.(this.#request, dropped)
      if (reply) return reply
    } catch (error) {
      if (!(error instanceof RequestError) || error.retryable) return undefined
    }
    // The run failed because the connection dropped. Why it cannot be resumed is secondary.
    throw LOST
  }

  async *#newChunks(reply: ForeignReply): AsyncGenerator<readonly DecodedChunk[], void, undefined> {
    const { signal } = this.#request
    let replay: ReplayFilter | undefined
    let isFirst = true
    let repeated: DecodedChunk[] = []
    for await (const chunks of reply) {
      if (signal.aborted) return
      let newChunks: readonly DecodedChunk[] | undefined = chunks
      // Known only after the first event.
      if (isFirst && reply.isReplay) replay = new ReplayFilter(this.#received)
      isFirst = false
      if (replay) {
        repeated.push(...chunks)
        newChunks = replay.take(chunks)
        if (newChunks === undefined) {
          this.#listener.restarted()
          this.#received.clear()
          newChunks = repeated
        }
        // The reply differs, or is past the point where the connection dropped.
        if (newChunks.length > 0) {
          replay = undefined
          repeated = []
        }
      }
      if (newChunks.length === 0) continue
      if (this.#server.resume) this.#receive(newChunks)
      yield newChunks
    }
  }

  #receive(newChunks: readonly DecodedChunk[]): void {
    this.#received.add(newChunks)
    if (this.#received.size <= this.#furthest) return
    this.#furthest = this.#received.size
    this.#delay.progressed()
  }
}

const LOST = new RequestError({
  code: 'connection_lost',
  message: 'The connection was lost before the server reported how the run ended: read the session again.',
  retryable: true,
})

// One reply, over as many connections as it takes.

import { ProtocolError } from '@millrace/protocol'
import { RetryDelay } from '@millrace/protocol/retry'
import type { DecodedChunk, EndStatus } from '../dialect/dialect.ts'
import { RequestError } from '../http/request-error.ts'
import { RECONNECT } from '../http/resumable-stream.ts'
import type { ForeignReply, ForeignRequest, ForeignServer } from './foreign-server.ts'
import { ReceivedChunks, ReplayFilter } from './replay-filter.ts'

/** Who wants to know what comes of it. */
export interface ReplyListener {
  /** More was said. */
  told(told: readonly DecodedChunk[]): void
  /** All that was said so far was not so: what comes now begins anew. */
  anew(): void
  /** It broke off, and is asked for again. */
  broke(reason: string): void
  /** There is another connection. */
  resumed(): void
}

/** Reads a reply to its end; one that closes without saying how it ends has broken off (law 7), and is asked for again if the peer can. */
export class ReplyReader {
  readonly #peer: ForeignServer
  readonly #request: ForeignRequest
  readonly #hearing: ReplyListener
  readonly #said = new ReceivedChunks()
  #reply: ForeignReply | undefined
  readonly #delay = new RetryDelay(RECONNECT)
  /** The most that was ever said: what begins anew brings nothing before it has come as far. */
  #furthest = 0

  constructor(peer: ForeignServer, request: ForeignRequest, hearing: ReplyListener) {
    this.#peer = peer
    this.#request = request
    this.#hearing = hearing
  }

  get reply(): ForeignReply | undefined {
    return this.#reply
  }

  /** Tries again at once, where it waits. */
  wake(): void {
    this.#delay.wake()
  }

  /** How it ended; undefined where it was left. Throws where it was refused, or broke off for good. */
  async run(first: () => Promise<ForeignReply> | ForeignReply): Promise<EndStatus | undefined> {
    const { signal } = this.#request
    try {
      let reply = await first()
      for (;;) {
        this.#reply = reply
        const lost = await this.#read(reply)
        if (signal.aborted) return undefined
        if (reply.status !== undefined) return reply.status
        this.#hearing.broke(lost.message)
        reply = await this.#resume(reply, lost)
        this.#hearing.resumed()
      }
    } catch (error) {
      if (signal.aborted) return undefined
      throw error
    }
  }

  /** Reads one connection until it ends, and tells why it did. */
  async #read(reply: ForeignReply): Promise<RequestError> {
    const { signal } = this.#request
    let replay: ReplayFilter | undefined
    let isFirst = true
    let again: DecodedChunk[] = []
    try {
      for await (const told of reply) {
        if (signal.aborted) return LOST
        let news: readonly DecodedChunk[] | undefined = told
        if (isFirst && reply.isReplay) replay = new ReplayFilter(this.#said)
        isFirst = false
        if (replay) {
          again.push(...told)
          news = replay.take(told)
          if (news === undefined) {
            this.#hearing.anew()
            this.#said.clear()
            news = again
            replay = undefined
            again = []
          } else if (news.length > 0) {
            // It has come to where the one before was cut off.
            replay = undefined
            again = []
          }
        }
        if (news.length === 0) continue
        if (this.#peer.resume) this.#hear(news)
        this.#hearing.told(news)
      }
      return LOST
    } catch (error) {
      // What is wrong stays wrong.
      if (error instanceof ProtocolError) throw new RequestError({ code: error.code, message: error.message })
      return LOST
    }
  }

  #hear(news: readonly DecodedChunk[]): void {
    this.#said.add(news)
    if (this.#said.size <= this.#furthest) return
    this.#furthest = this.#said.size
    this.#delay.progressed()
  }

  async #resume(dropped: ForeignReply, lost: RequestError): Promise<ForeignReply> {
    const { signal } = this.#request
    while (this.#peer.resume && (await this.#delay.wait(0, signal))) {
      try {
        const reply = await this.#peer.resume(this.#request, dropped)
        if (reply === undefined) throw lost
        return reply
      } catch (error) {
        // Why it broke off is what counts, not why it cannot be had now.
        if (error === lost || (error instanceof RequestError && !error.retryable)) throw lost
      }
    }
    throw lost
  }
}

const LOST = new RequestError({
  code: 'connection_lost',
  message: 'The connection was lost before the server said how the run ends.',
  retryable: true,
})

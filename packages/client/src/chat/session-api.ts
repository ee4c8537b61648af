import type { Json, ToolPart } from '@millrace/protocol'
import { BACKOFF, RetryDelay, retry } from '@millrace/protocol/retry'
import { sessionPath, TIMEOUT_MS } from '../connection/api.ts'
import type { ChatConnection } from '../connection/page-connection.ts'
import { failureOf } from '../error/chat-error.ts'
import type { UserPart } from './chat.ts'

/** Attempts per request without a signal. */
const ATTEMPTS = 5
/** Slowest upload that does not time out, in bytes per ms. */
const MIN_UPLOAD_RATE = 32
export const CONFLICT = 409

/** Requests of a chat about its session. */
export class SessionApi {
  readonly #api: ChatConnection['api']
  readonly #sessionId: string

  constructor(api: ChatConnection['api'], sessionId: string) {
    this.#api = api
    this.#sessionId = sessionId
  }

  async ask<T>(method: string, path: string, body?: object, signal?: AbortSignal): Promise<T> {
    return this.#api.ask<T>(method, sessionPath(this.#sessionId, path), body, signal)
  }

  /** Retries a few times, or with a signal until it aborts. All requests are idempotent. */
  askWithRetry<T>(method: string, path: string, body?: object, signal?: AbortSignal): Promise<T> {
    return this.#withRetry(() => this.ask<T>(method, path, body, signal), signal)
  }

  #withRetry<T>(ask: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const attempts = signal ? Infinity : ATTEMPTS - 1
    const delayAfter = (error: unknown) => {
      const { retryable, retryAfter = 0, status } = failureOf(error)
      // A conflict, or a long delay that the server asks for, is reported: the caller decides whether to wait.
      const isLong = !signal && (status === CONFLICT || retryAfter > BACKOFF.longestMs)
      return retryable && !isLong && retryAfter
    }
    return retry(ask, new RetryDelay({ attempts }), delayAfter, signal)
  }

  /** Uploads a file, and returns its part. The server stores equal bytes once. */
  upload(file: File): Promise<UserPart> {
    const headers = {
      'content-type': file.type || 'application/octet-stream',
      'x-filename': encodeURIComponent(file.name),
    }
    return this.#withRetry(async () => {
      const path = sessionPath(this.#sessionId, '/uploads')
      const timeoutMs = TIMEOUT_MS + file.size / MIN_UPLOAD_RATE
      type Uploaded = { url: string; mediaType: string; filename?: string }
      const reply = await this.#api.read<Uploaded>('POST', path, { body: file, headers }, timeoutMs)
      const { url, mediaType, filename } = reply
      return { type: 'file', url, mediaType, ...(filename !== undefined && { filename }) }
    })
  }

  /** Input of a tool call, loaded from its blob if it is large. */
  async inputOf({ input = null, blobs }: ToolPart, signal: AbortSignal): Promise<Json> {
    const hash = blobs?.['/input']?.hash
    return hash === undefined ? input : this.askWithRetry('GET', `/blobs/${hash}`, undefined, signal)
  }

  answer(answer: object, signal?: AbortSignal): Promise<unknown> {
    return this.askWithRetry('POST', '/answers', answer, signal)
  }
}

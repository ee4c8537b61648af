import type { Json, ToolPart } from '@millrace/protocol'
import { type Api, sessionPath } from '../connection/api.ts'
import { BACKOFF, Patience } from '../connection/patience.ts'
import { failureOf } from '../error.ts'
import { type ChatInput, partsOf, type SaidPart } from './chat.ts'

/** How often a request is tried that did not get there. */
const ATTEMPTS = 5
const CONFLICT = 409

/** What a chat asks the server for in its session. */
export class SessionApi {
  readonly #api: Api
  readonly #sessionId: string

  constructor(api: Api, sessionId: string) {
    this.#api = api
    this.#sessionId = sessionId
  }

  ask<T>(method: string, path: string, body?: object, signal?: AbortSignal): Promise<T> {
    return this.#api.ask<T>(method, sessionPath(this.#sessionId, path), body, signal)
  }

  /** Asks until it gets there, a few times or until it is not to: what is asked has a name, so that twice is once. */
  async insist<T>(method: string, path: string, body?: object, signal?: AbortSignal): Promise<T> {
    const patience = new Patience(BACKOFF)
    signal?.addEventListener('abort', () => patience.wake(), { once: true })
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.ask<T>(method, path, body, signal)
      } catch (error) {
        const { retryable, retryAfter, status = 503 } = failureOf(error)
        // What the session is in the way of is somebody's to wait for, or not.
        const isConflict = !signal && status === CONFLICT
        if (!retryable || isConflict || (signal ? signal.aborted : attempt === ATTEMPTS)) throw error
        await patience.wait(retryAfter)
      }
    }
  }

  /** The parts of what a person says; files are given to the server first. */
  async upload(input: ChatInput): Promise<readonly SaidPart[]> {
    const parts = [...partsOf(input)]
    if (typeof input === 'string') return parts
    for (const file of input.files ?? []) {
      const headers = {
        'content-type': file.type || 'application/octet-stream',
        'x-filename': encodeURIComponent(file.name),
      }
      const path = sessionPath(this.#sessionId, '/uploads')
      const reply = await this.#api.request('POST', path, { body: file, headers })
      const { url, mediaType, filename } = (await reply.json()) as { url: string; mediaType: string; filename?: string }
      parts.push({ type: 'file', url, mediaType, ...(filename !== undefined && { filename }) })
    }
    return parts
  }

  /** The whole input of a call. */
  async inputOf({ input = null, blobs }: ToolPart, signal: AbortSignal): Promise<Json> {
    const hash = blobs?.['/input']?.hash
    return hash === undefined ? input : this.insist('GET', `/blobs/${hash}`, undefined, signal)
  }

  answer(answer: object, signal?: AbortSignal): Promise<unknown> {
    return this.insist('POST', '/answers', answer, signal)
  }
}

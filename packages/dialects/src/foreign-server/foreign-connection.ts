import type { Connection, Subscriber, Subscription } from '@millrace/protocol'
import { RequestError } from '../http/request-error.ts'
import type { ForeignServer } from './foreign-server.ts'
import { type AnswerBody, type EditBody, ForeignSession, type RunBody } from './foreign-session.ts'

/** What a chat asks with, where it is no JSON. */
interface UploadRequest {
  readonly body?: BodyInit
  readonly headers?: Record<string, string>
}

const NOT_FOUND = 404

/** What carries a chat to a peer: a miniature of our own server, in the page. Its sessions last as long as it does. */
export class ForeignConnection implements Connection {
  /** Its sessions are this page's: whoever loads it again names the one that is to be read. */
  readonly isOfPage = true
  readonly #peer: ForeignServer
  readonly #sessions = new Map<string, ForeignSession>()
  /** What a chat asks its server for. */
  readonly api: {
    ask<T>(method: string, path: string, value?: unknown, signal?: AbortSignal): Promise<T>
    read<T>(method: string, path: string, asking: UploadRequest): Promise<T>
  }

  constructor(peer: ForeignServer) {
    this.#peer = peer
    this.api = {
      ask: async <T>(method: string, path: string, value?: unknown) => (await this.#ask(method, path, value)) as T,
      read: async <T>(method: string, path: string, asking: UploadRequest) =>
        (await this.#take(method, path, asking)) as T,
    }
  }

  follow(sessionId: string, follower: Subscriber, after?: string): Subscription {
    return this.#session(sessionId).follow(follower, after)
  }

  /** Tries again at once, wherever it waits. */
  wake(): void {
    for (const session of this.#sessions.values()) session.wake()
  }

  #session(sessionId: string): ForeignSession {
    const session = this.#sessions.get(sessionId) ?? new ForeignSession(sessionId, this.#peer)
    this.#sessions.set(sessionId, session)
    return session
  }

  async #ask(method: string, path: string, value: unknown): Promise<unknown> {
    const [sessionId, verb] = placeOf(path)
    const session = this.#session(sessionId)
    switch (`${method} ${verb}`) {
      case 'POST runs':
        return session.say(value as RunBody)
      case 'POST retry':
        return session.retry(value as { runId: string })
      case 'POST edit':
        return session.edit(value as EditBody)
      case 'POST answers':
        return session.answer(value as AnswerBody)
      case 'POST stop':
        return { stopped: await session.stop(value as object) }
      default:
        throw unknown(method, path)
    }
  }

  /** A file goes to the peer in what is said: it is its own address. */
  async #take(method: string, path: string, { body, headers = {} }: UploadRequest): Promise<unknown> {
    const [, verb] = placeOf(path)
    if (method !== 'POST' || verb !== 'uploads' || !(body instanceof Blob)) throw unknown(method, path)
    const mediaType = headers['content-type'] ?? 'application/octet-stream'
    const filename = decodeURIComponent(headers['x-filename'] ?? '')
    return { url: await dataUrlOf(body, mediaType), mediaType, ...(filename && { filename }) }
  }
}

/** The session and the verb of a path. */
function placeOf(path: string): [sessionId: string, verb: string] {
  const [, sessionId = '', verb = ''] = /^\/sessions\/([^/?]+)\/?([^/?]*)/.exec(path) ?? []
  return [decodeURIComponent(sessionId), verb]
}

const unknown = (method: string, path: string) =>
  new RequestError({ code: 'not_found', message: `A peer has no ${method} ${path}.` }, NOT_FOUND)

/** How many bytes are written at once: as many as a call takes arguments, and a multiple of 3. */
const PIECE = 0x6000

async function dataUrlOf(file: Blob, mediaType: string): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer())
  let text = ''
  for (let i = 0; i < bytes.length; i += PIECE) text += btoa(String.fromCharCode(...bytes.subarray(i, i + PIECE)))
  return `data:${mediaType};base64,${text}`
}

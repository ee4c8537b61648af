import type { Connection, Subscriber, Subscription } from '@millrace/protocol'
import { RequestError } from '../http/request-error.ts'
import type { ForeignServer } from './foreign-server.ts'
import { type AnswerBody, type EditBody, ForeignSession, type RunBody } from './foreign-session.ts'

/** A chat's request with a body other than JSON. */
interface UploadRequest {
  readonly body?: BodyInit | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
}

const NOT_FOUND = 404

/** Connects a chat to a foreign server, by doing in the page what a Millrace server does. Its sessions live as long as the connection. */
export class ForeignConnection implements Connection {
  /** Sessions are local to this page: after a reload the page must name the session to read. */
  readonly isOfPage = true
  readonly #server: ForeignServer
  readonly #sessions = new Map<string, ForeignSession>()
  /** The routes of a Millrace server that a chat uses. */
  readonly api: {
    ask<T>(method: string, path: string, value?: unknown, signal?: AbortSignal): Promise<T>
    read<T>(method: string, path: string, request: UploadRequest): Promise<T>
  }

  constructor(server: ForeignServer) {
    this.#server = server
    this.api = {
      ask: async <T>(method: string, path: string, value?: unknown) => (await this.#ask(method, path, value)) as T,
      read: async <T>(method: string, path: string, request: UploadRequest) =>
        (await this.#upload(method, path, request)) as T,
    }
  }

  follow(sessionId: string, subscriber: Subscriber, after?: string): Subscription {
    return this.#session(sessionId).follow(subscriber, after)
  }

  /** Reconnects now wherever it is waiting to. */
  wake(): void {
    for (const session of this.#sessions.values()) session.wake()
  }

  #session(sessionId: string): ForeignSession {
    const session = this.#sessions.get(sessionId) ?? new ForeignSession(sessionId, this.#server)
    this.#sessions.set(sessionId, session)
    return session
  }

  async #ask(method: string, path: string, value: unknown): Promise<unknown> {
    const [sessionId, verb] = routeOf(path)
    const session = this.#session(sessionId)
    switch (`${method} ${verb}`) {
      case 'POST runs':
        return session.requestRun(value as RunBody)
      case 'POST retry':
        return session.retry(value as { runId: string })
      case 'POST edit':
        return session.edit(value as EditBody)
      case 'POST answers':
        return session.answer(value as AnswerBody)
      case 'POST stop':
        return { stopped: await session.stop(value as object) }
      default:
        throw notSupported(method, path)
    }
  }

  /** Turns a file into a data URL, which the next message sends to the server. */
  async #upload(method: string, path: string, { body, headers = {} }: UploadRequest): Promise<unknown> {
    const [, verb] = routeOf(path)
    if (method !== 'POST' || verb !== 'uploads' || !(body instanceof Blob)) throw notSupported(method, path)
    const mediaType = headers['content-type'] ?? 'application/octet-stream'
    const filename = decodeURIComponent(headers['x-filename'] ?? '')
    return { url: await dataUrlOf(body, mediaType), mediaType, ...(filename && { filename }) }
  }
}

function routeOf(path: string): [sessionId: string, verb: string] {
  const [, sessionId = '', verb = ''] = /^\/sessions\/([^/?]+)\/?([^/?]*)/.exec(path) ?? []
  return [decodeURIComponent(sessionId), verb]
}

const notSupported = (method: string, path: string) =>
  new RequestError(
    { code: 'not_found', message: `Expected a request that this server supports, found ${method} ${path}.` },
    NOT_FOUND,
  )

/** Bytes encoded at a time: at most as many as a call takes arguments, and a multiple of 3. */
const BLOCK_SIZE = 0x6000

async function dataUrlOf(file: Blob, mediaType: string): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer())
  let text = ''
  for (let i = 0; i < bytes.length; i += BLOCK_SIZE)
    text += btoa(String.fromCharCode(...bytes.subarray(i, i + BLOCK_SIZE)))
  return `data:${mediaType};base64,${text}`
}

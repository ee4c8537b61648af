// HTTP requests with a socket each, so that a broken socket affects one request only.

import { type IncomingMessage, request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'

export interface SentRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

export interface ReceivedResponse {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
}

/** Sends a request. Resolves with the head of the response. */
export function send(
  port: number,
  { method, path, headers = {}, body }: SentRequest,
  signal?: AbortSignal,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const text = body === undefined ? undefined : JSON.stringify(body)
    const contentType = text === undefined ? {} : { 'content-type': 'application/json' }
    const options = { host: '127.0.0.1', port, method, path: `/api${path}`, headers: { ...contentType, ...headers } }
    const sent = request({ ...options, agent: false, ...(signal && { signal }) }, response => {
      // Later failures are reported by `close`.
      response.on('error', () => {})
      resolve(response)
    })
    sent.on('error', reject)
    sent.end(text)
  })
}

/** Sends a request and reads the whole response. Rejects if it is cut off. */
export async function ask(port: number, sent: SentRequest, signal?: AbortSignal): Promise<ReceivedResponse> {
  const response = await send(port, { ...sent, headers: { accept: 'application/json', ...sent.headers } }, signal)
  const pieces: Buffer[] = []
  for await (const piece of response) pieces.push(piece as Buffer)
  const text = Buffer.concat(pieces).toString()
  return { status: response.statusCode ?? 0, body: text === '' ? {} : JSON.parse(text) }
}

/** Retries until a response arrives: a killed server restarts, and repeated requests take effect once. */
export async function sendUntilAnswered(
  port: number,
  sent: SentRequest,
  signal: AbortSignal,
): Promise<ReceivedResponse> {
  for (;;) {
    try {
      const response = await ask(port, sent, signal)
      if (response.status < 500) return response
    } catch {
      signal.throwIfAborted()
    }
    await pause(5, undefined, { signal })
  }
}

import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { systemTimers, type Timers } from '@millrace/log'
import { onTestFinished } from 'vitest'

/** How a server handles one request. It may never end the response. */
export type Handle = (response: ServerResponse) => void

/** A server on loopback that handles its requests in order, then repeats the last way. It stops with the test. */
export async function hangingServer(...handles: readonly Handle[]) {
  /** For each request, a promise that resolves when its connection is closed. */
  const closed: Promise<void>[] = []
  const waiting: (() => void)[] = []
  const server = createServer((request, response) => {
    request.resume()
    const handle = (handles[closed.length] ?? handles.at(-1)) as Handle
    closed.push(new Promise(resolve => response.once('close', resolve)))
    request.once('end', () => {
      handle(response)
      for (const resolve of waiting.splice(0)) resolve()
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    closed,
    /** Resolves when the server has handled the next request. */
    handled: () => new Promise<void>(resolve => void waiting.push(resolve)),
  }
}

/** Limits that no test waits for: `SilenceTimers` ends the waits. */
export const SILENCE_LIMITS = { firstPartMs: 1_000_000, idleMs: 2_000_000 }

/** Timers of the system, except that a test decides when a provider was silent for too long. */
export class SilenceTimers implements Timers {
  readonly now = systemTimers.now
  readonly #timers = new Set<{ readonly ms: number; readonly call: () => void }>()
  readonly #waiting: (() => void)[] = []

  after(ms: number, call: () => void, isIdle?: boolean): () => void {
    const { firstPartMs, idleMs } = SILENCE_LIMITS
    // The time until the first part has several waits.
    if (ms < firstPartMs / 2 || ms > idleMs) return systemTimers.after(ms, call, isIdle)
    const timer = { ms, call }
    this.#timers.add(timer)
    for (const resolve of this.#waiting.splice(0)) resolve()
    return () => this.#timers.delete(timer)
  }

  /** Ends a wait for a provider, as soon as there is one with this limit. */
  async end(option: keyof typeof SILENCE_LIMITS): Promise<void> {
    for (;;) {
      const isIdle = (ms: number) => ms > SILENCE_LIMITS.firstPartMs
      const timer = [...this.#timers].find(({ ms }) => isIdle(ms) === (option === 'idleMs'))
      if (timer) return timer.call()
      await new Promise<void>(resolve => void this.#waiting.push(resolve))
    }
  }
}

const SSE = { 'content-type': 'text/event-stream' }

/** Never sends a header. */
export const beforeHeaders: Handle = () => {}

/** Sends headers and no body. */
export const afterHeaders: Handle = response => {
  response.writeHead(200, SSE)
  response.flushHeaders()
}

/** Sends a part of a body and then nothing. */
export const midBody =
  (body: string, length: number): Handle =>
  response =>
    void response.writeHead(200, SSE).write(body.slice(0, length))

/** Sends a part of a body, then comments that keep the connection busy and are no parts, for as long as the client reads. */
export const commentsWithoutEnd =
  (body: string, length: number): Handle =>
  response => {
    response.writeHead(200, SSE).write(body.slice(0, length))
    const send = () => {
      if (!response.destroyed) response.write(': processing\n\n', () => setImmediate(send))
    }
    send()
  }

/** Sends a complete body. */
export const completeBody =
  (body: string): Handle =>
  response =>
    void response.writeHead(200, SSE).end(body)

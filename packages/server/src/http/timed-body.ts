// Request bodies that must arrive in time: a client could otherwise hold a request open without end.

import type { Timers } from '@millrace/log'
import { HttpError } from '../errors/http-error.ts'
import { markParsed, wasParsed } from './body.ts'

/** How long a body may take, in ms. */
export interface BodyTimes {
  /** Maximum time between two pieces. */
  readonly bodyIdleMs: number
  /** Maximum time until the whole body has arrived. */
  readonly bodyMs: number
}

/** The same request, with a body that fails with `body_timeout` if it does not arrive in time. */
export function withTimedBody(request: Request, timers: Timers, times: BodyTimes): Request {
  if (request.body === null) return request
  let body: ReadableStream<Uint8Array> | undefined
  const timed = new Proxy(request, {
    get(target, key) {
      if (key === 'body') {
        body ??= timedStream(target.body as ReadableStream<Uint8Array>, timers, times)
        return body
      }
      const value: unknown = Reflect.get(target, key, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  if (wasParsed(request)) markParsed(timed)
  return timed
}

/** Reads a body on demand. Only the time in which a reader waits for the client counts. */
function timedStream(
  body: ReadableStream<Uint8Array>,
  timers: Timers,
  { bodyIdleMs, bodyMs }: BodyTimes,
): ReadableStream<Uint8Array> {
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  let leftMs = bodyMs
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        reader ??= body.getReader()
        const timeout = Promise.withResolvers<never>()
        const startedAt = timers.now()
        const error = leftMs < bodyIdleMs ? wholeTimeout(bodyMs) : idleTimeout(bodyIdleMs)
        const cancel = timers.after(Math.max(0, Math.min(leftMs, bodyIdleMs)), () => timeout.reject(error))
        try {
          const { done, value } = await Promise.race([reader.read(), timeout.promise])
          if (done) controller.close()
          else controller.enqueue(value)
        } finally {
          cancel()
          leftMs -= timers.now() - startedAt
        }
      },
      cancel: reason => (reader ?? body).cancel(reason),
    },
    { highWaterMark: 0 },
  )
}

const idleTimeout = (ms: number): HttpError => timeoutError(`body: expected the next bytes within ${ms} ms`)

const wholeTimeout = (ms: number): HttpError => timeoutError(`body: expected all of it within ${ms} ms`)

const timeoutError = (problem: string): HttpError =>
  new HttpError('body_timeout', `${problem}: send it again`, { retryable: true, headers: { connection: 'close' } })

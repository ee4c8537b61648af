// Streams of a Millrace server in a dialect. The server marks how far it has sent, so that a client resumes after the last mark.

import type { RetryDelay, RetryOptions } from '@millrace/protocol/retry'
import { EventReader, type WireEvent } from './event-reader.ts'

const ATTEMPTS = 8

/** Backoff for dropped connections, to this server and to foreign ones. */
export const RECONNECT: RetryOptions = { attempts: ATTEMPTS, stableMs: 5_000 }

/** The marks that a stream has passed. A repeated mark means that the server did not resume at the requested position. */
export class StreamMarks {
  readonly #passed = new Set<string>()
  /** The last new mark. */
  last: string | undefined

  /** Whether a mark is new. */
  pass(mark: string): boolean {
    if (this.#passed.has(mark)) return false
    this.#passed.add(mark)
    this.last = mark
    return true
  }
}

export interface MarkedEventsOptions<Value> {
  readonly marks: StreamMarks
  readonly delay: RetryDelay
  /** What to yield for an event; undefined for nothing. */
  readonly parse: (event: WireEvent) => Value | undefined
  /** Whether an event is the last one of its stream. */
  readonly isLast: (event: WireEvent) => boolean
  /** Longest time without data before the connection counts as dropped, in ms. @default Infinity */
  readonly silenceMs?: number | undefined
  readonly signal?: AbortSignal | undefined
}

/** Reads one connection. Yields the values between two marks once all of them are there and new. Returns whether the stream is complete. */
export async function* markedEvents<Value>(
  body: ReadableStream<Uint8Array> | null,
  { marks, delay, parse, isLast, silenceMs, signal }: MarkedEventsOptions<Value>,
): AsyncGenerator<readonly Value[], boolean, undefined> {
  const reader = body?.getReader()
  const events = new EventReader('sse', undefined, true)
  let held: Value[] = []
  const drop = () => void reader?.cancel().catch(() => {})
  signal?.addEventListener('abort', drop)
  if (signal?.aborted) drop()
  try {
    for (;;) {
      const timer = silenceMs === undefined ? undefined : setTimeout(drop, silenceMs)
      const { value: bytes } = (await reader?.read().finally(() => clearTimeout(timer))) ?? {}
      if (bytes === undefined || signal?.aborted) return false
      for (const event of events.push(bytes)) {
        const { id, data } = event
        const isMark = data === '' && id !== undefined
        const value = isMark ? undefined : parse(event)
        if (value !== undefined) held.push(value)
        if (!isMark && !isLast(event)) continue
        const isNew = !isMark || marks.pass(id)
        if (isNew) delay.progressed()
        if (isNew && held.length > 0) yield held
        if (!isMark) return true
        held = []
      }
    }
  } finally {
    signal?.removeEventListener('abort', drop)
    drop()
  }
}

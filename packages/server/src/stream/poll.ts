// Frames where no stream can pass: the same, in one reply, as soon as there is something to tell.

import { TruncatedError } from '@millrace/log'
import { encodeCursor, type Frame } from '@millrace/protocol'
import type { Headers, Reply } from '../http/reply.ts'
import type { Call } from '../route/route.ts'
import { bytesOf, CONTENT_TYPES, EntriesFrame, formatOf } from './format.ts'
import { openFrame } from './open.ts'
import { PAGE_BYTES } from './settings.ts'

export interface PollOptions {
  readonly sessionId: string
  readonly after: string
  readonly merge: boolean
  readonly headers: Headers
}

/** The most that one reply carries, about, in bytes: who comes again gets the rest. */
const MOST_BYTES = 4 * 1024 * 1024

/** What lies after a place, as soon as there is anything, or nothing when the time is over. */
export async function poll(
  { services, request }: Call,
  { sessionId, after, merge, headers }: PollOptions,
): Promise<Reply> {
  const { manager, settings } = services
  const { heartbeatMs, pollMs, timers } = settings
  const format = formatOf(request.headers.get('accept')) === 'ndjson' ? 'ndjson' : 'sse'
  const { open, info } = await openFrame(manager, sessionId, after, heartbeatMs)
  const bytes: Buffer[] = []
  const write = (frame: Exclude<Frame, { type: 'entries' }>) => bytes.push(bytesOf(frame, format))
  write(open)
  const over = new AbortController()
  const cancel = timers.after(pollMs, () => over.abort())
  const signal = AbortSignal.any([over.signal, request.signal])
  const reader = manager.readBatches(sessionId, { after, follow: true, merge, pageBytes: PAGE_BYTES })
  const leave = () => reader.close()
  signal.addEventListener('abort', leave, { once: true })
  try {
    let last: number | null = null
    let length = 0
    let piece = await reader.now()
    if (piece === undefined && reader.isCaughtUp) piece = await reader.next()
    for (; piece; piece = length < MOST_BYTES ? await reader.now() : undefined) {
      const frame = new EntriesFrame(sessionId, piece).bytes(format, false, last)
      last = piece.sequence
      length += frame.length
      bytes.push(frame)
    }
    const { place } = reader
    if (reader.isCaughtUp && place) {
      write({ type: 'caught-up', sequence: place.sequence, cursor: encodeCursor(place) })
      if (reader.status === 'paused') write({ type: 'status', status: 'paused' })
    }
  } catch (error) {
    if (!(error instanceof TruncatedError)) throw error
    const { floor, reason } = error
    write({ type: 'truncated', floor, incarnation: info.incarnation, reason, head: error.head })
  } finally {
    cancel()
    signal.removeEventListener('abort', leave)
    reader.close()
  }
  const type = { 'content-type': CONTENT_TYPES[format], 'cache-control': 'no-store' }
  return { status: 200, headers: { ...type, ...headers }, body: Buffer.concat(bytes) }
}

// Frames where no stream can pass: the same, in one reply, as soon as there is something to tell.

import { encodeCursor, type Frame } from '@millrace/protocol'
import { draining } from '../errors/refusal.ts'
import type { Headers, Reply } from '../http/reply.ts'
import type { SessionIdentity } from '../sessions/session-access.ts'
import { failureOf, headersOf } from './connections.ts'
import { assertIncarnation, openFrame, truncatedFrame } from './control-frames.ts'
import { bytesOf, CONTENT_TYPES, EntriesFrame, type Format } from './format.ts'
import type { StreamServices } from './stream-services.ts'
import { PAGE_BYTES } from './stream-settings.ts'

export interface LongPollOptions {
  /** Aborts when the client leaves. */
  readonly signal: AbortSignal
  /** Throws where the caller may not read any more. */
  readonly recheck: () => Promise<void>
  readonly sessionId: string
  readonly identity: SessionIdentity
  readonly after: string
  readonly merge: boolean
  readonly whole: boolean
  readonly format: Format
  readonly headers: Headers
}

/** The most that one reply carries, about, in bytes: who comes again gets the rest. */
const MOST_BYTES = 1024 * 1024

/** What lies after a place, as soon as there is anything, or nothing when the time is over or the server goes; throws where who waited may not read any more. */
export async function longPoll(
  { manager, settings, connections }: StreamServices,
  { signal, recheck, sessionId, identity, after, merge, whole, format, headers }: LongPollOptions,
): Promise<Reply> {
  const { heartbeatMs, pollMs, reauthorizeMs, timers } = settings
  const askedAt = timers.now()
  const bytes: Buffer[] = []
  const write = (frame: Exclude<Frame, { type: 'entries' }>) => bytes.push(bytesOf(frame, format))
  const open = await openFrame(manager, sessionId, identity, after, heartbeatMs)
  write(open)
  const how = { follow: true, merge, whole, rewound: true, pageBytes: PAGE_BYTES }
  const reader = manager.readBatches(sessionId, { after: open.cursor, ...how })
  const leave = () => reader.close()
  const cancel = timers.after(pollMs, leave)
  // Not one signal of both: the server's lives long, and remembers all that were made of it.
  const signals = [connections.draining, signal]
  for (const either of signals) {
    either.addEventListener('abort', leave, { once: true })
    if (either.aborted) leave()
  }
  try {
    let last: number | null = null
    let length = 0
    let piece = await reader.now()
    assertIncarnation(identity, reader.place)
    if (piece === undefined && reader.isCaughtUp) piece = await reader.next()
    for (; piece; piece = length < MOST_BYTES && !reader.isCaughtUp ? await reader.now() : undefined) {
      const frame = new EntriesFrame(sessionId, piece).bytes(format, false, last)
      last = piece.sequence
      length += frame.length
      bytes.push(frame)
    }
    const { place, isCaughtUp, status } = reader
    if (isCaughtUp && place) {
      write({ type: 'caught-up', sequence: place.sequence, cursor: encodeCursor(place) })
      write({ type: 'status', status: status === 'paused' ? 'paused' : 'active' })
    }
    if (connections.draining.aborted) write(failureOf(draining()).frame)
  } catch (error) {
    write(await truncatedFrame(manager, sessionId, identity, error))
  } finally {
    cancel()
    for (const either of signals) either.removeEventListener('abort', leave)
    reader.close()
  }
  // Nothing has left yet: who waited for as long as a stream goes unasked is asked after before it does.
  const isLong = timers.now() - askedAt >= reauthorizeMs
  if (isLong && !signal.aborted) await recheck()
  return { status: 200, headers: { ...headersOf(CONTENT_TYPES[format]), ...headers }, body: Buffer.concat(bytes) }
}

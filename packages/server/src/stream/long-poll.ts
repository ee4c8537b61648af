// Long polling, for networks that block streams: the same frames in one reply, as soon as there is an entry.

import { sessionIdOf } from '@millrace/log'
import { encodeCursor, type Frame } from '@millrace/protocol'
import { draining } from '../errors/http-error.ts'
import type { Headers, Reply } from '../http/reply.ts'
import type { SessionIdentity } from '../sessions/session-access.ts'
import { failureOf, headersOf, type StreamServices } from './connections.ts'
import { assertIncarnation, openFrame, truncatedFrame } from './control-frames.ts'
import { bytesOf, CONTENT_TYPES, EntriesFrame, type Format } from './format.ts'
import { PAGE_BYTES } from './stream-settings.ts'

export interface LongPollOptions {
  /** Aborts when the client leaves. */
  readonly signal: AbortSignal
  /** @throws if the caller lost access */
  readonly recheck: () => Promise<void>
  readonly identity: SessionIdentity
  readonly after: string
  readonly merge: boolean
  readonly includeDiscarded: boolean
  readonly format: Format
  readonly headers: Headers
}

/** Approximate maximum size of one reply, in bytes. The next poll gets the rest. */
const MAX_REPLY_BYTES = 1024 * 1024

/** Replies with the frames after a position as soon as there are any, or without entries after `pollMs` or on shutdown. @throws if the caller lost access meanwhile */
export async function longPoll(
  { manager, settings, connections }: StreamServices,
  { signal, recheck, identity, after, merge, includeDiscarded, format, headers }: LongPollOptions,
): Promise<Reply> {
  const { heartbeatMs, pollMs, reauthorizeMs, timers } = settings
  const askedAt = timers.now()
  const bytes: Buffer[] = []
  const write = (frame: Exclude<Frame, { type: 'entries' }>) => bytes.push(bytesOf(frame, format))
  const open = await openFrame(manager, identity, after, heartbeatMs)
  write(open)
  const readOptions = { follow: true, merge, includeDiscarded, rewound: true, pageBytes: PAGE_BYTES }
  const reader = manager.readBatches(identity.streamId, { after: open.cursor, ...readOptions })
  const stop = () => reader.close()
  const cancel = timers.after(pollMs, stop)
  // Not `AbortSignal.any`: the server's signal is long-lived and would retain every combined signal.
  const signals = [connections.draining, signal]
  for (const each of signals) {
    each.addEventListener('abort', stop, { once: true })
    if (each.aborted) stop()
  }
  try {
    let last: number | null = null
    let length = 0
    let batch = await reader.nextAvailable()
    assertIncarnation(identity, reader.cursor)
    if (batch === undefined && reader.isCaughtUp) batch = await reader.next()
    for (; batch; batch = length < MAX_REPLY_BYTES && !reader.isCaughtUp ? await reader.nextAvailable() : undefined) {
      const frame = new EntriesFrame(sessionIdOf(identity.streamId), batch).bytes(format, false, last)
      last = batch.sequence
      length += frame.length
      bytes.push(frame)
    }
    const { cursor, isCaughtUp, status } = reader
    if (isCaughtUp && cursor) {
      write({ type: 'caught-up', sequence: cursor.sequence, cursor: encodeCursor(cursor) })
      write({ type: 'status', status: status === 'paused' ? 'paused' : 'active' })
    }
    if (connections.draining.aborted) write(failureOf(draining()).frame)
  } catch (error) {
    write(await truncatedFrame(manager, identity, error))
  } finally {
    cancel()
    for (const each of signals) each.removeEventListener('abort', stop)
    reader.close()
  }
  // Nothing is sent yet. After a long wait, authorizes again, as a stream would.
  const isLong = timers.now() - askedAt >= reauthorizeMs
  if (isLong && !signal.aborted) await recheck()
  return { status: 200, headers: { ...headersOf(CONTENT_TYPES[format]), ...headers }, body: Buffer.concat(bytes) }
}

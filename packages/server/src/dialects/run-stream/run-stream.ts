// Streams a run in a dialect, up to its end or pause, with backpressure, from its start or from a position.

import type { DecodedChunk, Encoder, EndStatus } from '@millrace/dialects'
import { sessionIdOf } from '@millrace/log'
import { decodeCursor, type Entry, encodeCursor } from '@millrace/protocol'
import { MAIN_LANE } from '@millrace/protocol/internal'
import { type Run, RunError } from '@millrace/runtime'
import type { Action, Program } from '../../auth/authorize.ts'
import type { StreamReply } from '../../http/reply.ts'
import type { RouteCall } from '../../routing/route.ts'
import type { Services } from '../../routing/services.ts'
import { assertSameSession, reauthorizeSession, type SessionIdentity } from '../../sessions/session-access.ts'
import { assertIncarnation } from '../../stream/control-frames.ts'
import type { Format } from '../../stream/format.ts'
import type { Framing, StreamChannel } from '../../stream/stream-channel.ts'
import { PAGE_BYTES } from '../../stream/stream-settings.ts'
import { type EntryWindow, EntryWindows } from './entry-windows.ts'
import { assertPositionInLog, assertRunNotTrimmed, type EventPosition } from './event-position.ts'
import { EventWriter } from './event-writer.ts'

/** The written form of a dialect's events. */
export interface DialectFormat<Event> {
  readonly format: Format
  readonly framing: Framing
  readonly headers?: Readonly<Record<string, string>>
  /** Whether event ids contain cursors, so that clients can resume from them. Otherwise an id only identifies an event. */
  readonly hasCursorIds?: true
  /** An event as text. */
  write(event: Event, eventId: string): string
  /** Text after each batch of entries, with the cursor to resume from. */
  mark?(cursor: string): string
  /** Text after the last event. */
  readonly closing?: string
}

export interface RunStreamOptions<Event> {
  readonly run: Run
  readonly identity: SessionIdentity
  readonly encoder: Encoder<Event>
  readonly dialectFormat: DialectFormat<Event>
  /** Sends only what follows this position. @default the start of the run */
  readonly after?: EventPosition | undefined
  /** Called before an entry is encoded. Undefined if there is nothing to wait for. */
  readonly beforeEntry?: (entry: Entry) => Promise<void> | undefined
  /** Action to authorize. @default the action of the route */
  readonly action?: Action
  /** The program that the request named. */
  readonly program?: Program | undefined
  /** Releases a stream slot that was taken before. @default takes a slot now */
  readonly release?: () => void
}

/** Streams a run in a dialect, up to its end or pause. @throws `session_trimmed` or `TruncatedError` if the run or the position is not in the log */
export async function streamRun<Event>(
  call: RouteCall,
  caller: RouteCall['caller'],
  options: RunStreamOptions<Event>,
): Promise<StreamReply> {
  const { services, request } = call
  const { run, dialectFormat, action = call.action, program } = options
  const { runId } = run
  const sessionId = sessionIdOf(run.sessionId)
  const release = options.release ?? services.limiter.acquireStream(caller.principal)
  try {
    await assertStreamable(services, options)
  } catch (error) {
    release()
    throw error
  }
  return services.connections.reply({
    format: dialectFormat.format,
    framing: dialectFormat.framing,
    headers: {
      'x-session-id': encodeURIComponent(sessionId),
      'x-run-id': encodeURIComponent(runId),
      ...dialectFormat.headers,
    },
    recheck: () => reauthorizeSession(services, request, caller, action, sessionId, program),
    serve: channel => new RunStream(services, options, channel).run(),
    onClose: release,
  })
}

async function assertStreamable<Event>(
  { manager }: Services,
  { run, identity, after }: RunStreamOptions<Event>,
): Promise<void> {
  if (after) await assertPositionInLog(manager, identity, after)
  // A client that just answered continues with the entries that are left.
  if (after === undefined || after.cursor !== undefined) await assertRunNotTrimmed(manager, run)
}

/** One run on one connection. */
class RunStream<Event> {
  readonly #services: Services
  readonly #options: RunStreamOptions<Event>
  readonly #channel: StreamChannel
  readonly #writer: EventWriter<Event>
  #text = ''
  /** Whether the request was removed before the run started. */
  #isRemoved = false

  constructor(services: Services, options: RunStreamOptions<Event>, channel: StreamChannel) {
    this.#services = services
    this.#options = options
    this.#channel = channel
    const { encoder, dialectFormat, after, identity } = options
    const { incarnation } = identity
    const start = dialectFormat.hasCursorIds ? encodeCursor({ sequence: 0, incarnation, epoch: '0' }) : '0'
    this.#writer = new EventWriter(encoder, (event, eventId) => dialectFormat.write(event, eventId), { after, start })
  }

  async run(): Promise<void> {
    const status = await this.#entries()
    if (status === undefined) return
    const last = this.#isRemoved ? removedRun(this.#options.run.runId) : undefined
    this.#text += this.#writer.end(status, last) + (this.#options.dialectFormat.closing ?? '')
    this.#write()
  }

  /** Writes the entries of the run. Returns how it ended; undefined if the client left. */
  async #entries(): Promise<EndStatus | undefined> {
    const { run, dialectFormat, after, identity } = this.#options
    const { signal } = this.#channel
    // To resume, the encoder needs all entries that the client may have.
    const readOptions = after === undefined ? { rewound: true } : { includeDiscarded: true }
    const windows = new EntryWindows({
      resumed: after && { first: after.first ?? after.sequence, last: after.sequence },
    })
    let isVerified = false
    let status: EndStatus | undefined
    try {
      for await (const piece of run.pieces({ ...readOptions, pageBytes: PAGE_BYTES, signal })) {
        const { entries, cursor, sequence } = piece
        if (!isVerified) assertIncarnation(identity, decodeCursor(cursor))
        isVerified = true
        for (const entry of entries) status = statusAfter(entry, status)
        const positionAt = dialectFormat.hasCursorIds ? piece.cursorAt : String
        for (const window of windows.add({ entries, reached: sequence, replayEnd: piece.replayEnd, positionAt }))
          if (!(await this.#writeWindow(window))) return undefined
        // The client does not have all entries before the cursor.
        if (windows.isOpen) continue
        // Up to the resume position the client has everything.
        const resumeCursor = after && sequence <= after.sequence ? after.cursor : cursor
        if (resumeCursor !== undefined) this.#text += dialectFormat.mark?.(resumeCursor) ?? ''
        if (!(await this.#flush())) return undefined
      }
      for (const window of windows.end()) if (!(await this.#writeWindow(window))) return undefined
    } catch (error) {
      if (!(error instanceof RunError && error.code === 'run_taken_back')) throw error
      this.#isRemoved = true
      return 'aborted'
    }
    // No status seen: the run ended before the first entry that is left.
    if (status === undefined) ({ status } = await run.result({ signal }))
    if (!isVerified) await assertSameSession(this.#services.manager, identity)
    return status
  }

  /** Writes the entries of a window. Returns whether the connection is still open. */
  async #writeWindow({ first, last, entries, position: id }: EntryWindow): Promise<boolean> {
    const { manager } = this.#services
    const { sessionId: streamId } = this.#options.run
    const range = { first, last, id }
    for (const entry of entries) {
      const prepared = this.#options.beforeEntry?.(entry)
      if (prepared) await prepared
      this.#text += this.#writer.writeEntry(entry.blobs ? await manager.resolve(streamId, entry) : entry, range)
      // Entries can be large, and their events several times larger.
      if (this.#text.length >= PAGE_BYTES && !(await this.#flush())) return false
    }
    return true
  }

  #flush(): Promise<boolean> {
    this.#write()
    return this.#channel.room()
  }

  #write(): void {
    if (this.#text !== '') this.#channel.write(Buffer.from(this.#text))
    this.#text = ''
  }
}

/** The end of a run whose request was removed before it started. The log has no entry for it, and most formats have no other way to say `aborted`. */
export const removedRun = (runId: string): DecodedChunk => ({
  chunk: { type: 'run-finished', status: 'aborted' },
  origin: { runId, lane: MAIN_LANE, agentId: runId, agentType: '', step: 0 },
})

/** The status of a run after an entry. */
function statusAfter({ chunk }: Entry, status: EndStatus | undefined): EndStatus | undefined {
  switch (chunk.type) {
    case 'run-paused':
      return 'paused'
    case 'run-resumed':
      return undefined
    case 'run-finished':
      return chunk.status
    default:
      return status
  }
}

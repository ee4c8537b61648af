// A run in the words of a dialect, to its end or pause: as it is written, no faster than it is read, from its start or from a place on.

import type { Encoder, EndStatus } from '@millrace/dialects'
import { decodeCursor, type Entry, encodeCursor } from '@millrace/protocol'
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
import { assertPositionInLog, assertRunNotTrimmed, type EventPosition } from './event-position.ts'
import { EventWriter } from './event-writer.ts'

/** How the events of a dialect are written out. */
export interface DialectFormat<Event> {
  readonly format: Format
  readonly framing: Framing
  readonly headers?: Readonly<Record<string, string>>
  /** Whether deltas that were written before somebody came are said as one: only where no client goes on from the place of an event, since that may lie between them. */
  readonly merges?: true
  /** Whether clients go on from the place of an event, which then proves itself; otherwise it only tells one event from another. */
  readonly proves?: true
  /** One event as text, and its place. */
  write(event: Event, place: string): string
  /** Said after each piece of the log: who has read so far may go on from there. Unlike the place of an event, it holds also where deltas were merged. */
  mark?(cursor: string): string
  /** What comes after the last event. */
  readonly closing?: string
}

export interface RunStreamOptions<Event> {
  readonly run: Run
  readonly identity: SessionIdentity
  readonly encoder: Encoder<Event>
  readonly dialectFormat: DialectFormat<Event>
  /** Only what lies after this place is said; all of the run, if nothing is said. */
  readonly after?: EventPosition | undefined
  /** What has to be looked up before an entry is said; nothing, for most. */
  readonly before?: (entry: Entry) => Promise<void> | undefined
  /** As what somebody may read it; as what the route is for, if nothing is said. */
  readonly action?: Action
  /** Who answers, where that was asked for. */
  readonly program?: Program | undefined
  /** Lets the stream go that was counted before the run was asked for; it is counted now, if nothing is said. */
  readonly release?: () => void
}

/** A run in a dialect, to its end or pause. Throws where it cannot be said: its start is trimmed, or the place after which it is asked for is not in the log. */
export async function streamRun<Event>(
  call: RouteCall,
  caller: RouteCall['caller'],
  options: RunStreamOptions<Event>,
): Promise<StreamReply> {
  const { services, request } = call
  const { run, dialectFormat, action = call.action, program } = options
  const { sessionId, runId } = run
  const release = options.release ?? services.limiter.stream(caller.principal)
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
  if (after) await assertPositionInLog(manager, run.sessionId, identity, after)
  // Who answered goes on with what is left.
  if (after === undefined || after.cursor !== undefined) await assertRunNotTrimmed(manager, run)
}

/** One run on one connection. */
class RunStream<Event> {
  readonly #services: Services
  readonly #options: RunStreamOptions<Event>
  readonly #channel: StreamChannel
  readonly #writer: EventWriter<Event>
  #text = ''

  constructor(services: Services, options: RunStreamOptions<Event>, channel: StreamChannel) {
    this.#services = services
    this.#options = options
    this.#channel = channel
    const { encoder, dialectFormat, after, identity } = options
    const { incarnation } = identity
    const start = dialectFormat.proves ? encodeCursor({ sequence: 0, incarnation, epoch: '0' }) : '0'
    this.#writer = new EventWriter(encoder, (event, place) => dialectFormat.write(event, place), { after, start })
  }

  async run(): Promise<void> {
    const status = await this.#entries()
    if (status === undefined) return
    this.#text += this.#writer.end(status) + (this.#options.dialectFormat.closing ?? '')
    this.#write()
  }

  /** Says what the run says; tells how it ended, undefined where nobody hears it. */
  async #entries(): Promise<EndStatus | undefined> {
    const { run, dialectFormat, after, identity } = this.#options
    const { signal } = this.#channel
    // Whoever goes on from a place needs all that its encoder has seen before it, as it was.
    const how =
      after === undefined
        ? { merge: dialectFormat.merges ?? dialectFormat.mark !== undefined, rewound: true }
        : { whole: true }
    let isKnown = false
    let status: EndStatus | undefined
    try {
      for await (const piece of run.pieces({ ...how, pageBytes: PAGE_BYTES, signal })) {
        const { entries, cursor, sequence } = piece
        if (!isKnown) assertIncarnation(identity, decodeCursor(cursor))
        isKnown = true
        for (const entry of entries) {
          status = statusAfter(entry, status)
          const name = dialectFormat.proves && piece.cursorAt(entry.sequence)
          if (!(await this.#writeEntry(entry, name))) return undefined
        }
        // Up to the place where somebody goes on nothing is news.
        const resumeCursor = after && sequence <= after.sequence ? after.cursor : cursor
        if (resumeCursor !== undefined) this.#text += dialectFormat.mark?.(resumeCursor) ?? ''
        if (!(await this.#flush())) return undefined
      }
    } catch (error) {
      // It was taken back before it began: that is an end, and whoever waited for it is told so.
      if (error instanceof RunError && error.code === 'run_taken_back') return 'aborted'
      throw error
    }
    // Where nothing tells, its end lies before what is left of it.
    if (status === undefined) ({ status } = await run.result({ signal }))
    if (!isKnown) await assertSameSession(this.#services.manager, run.sessionId, identity)
    return status
  }

  /** Says an entry; whether somebody still hears it. */
  async #writeEntry(entry: Entry, name: string | undefined): Promise<boolean> {
    const { manager } = this.#services
    const { sessionId } = this.#options.run
    const prepared = this.#options.before?.(entry)
    if (prepared) await prepared
    this.#text += this.#writer.writeEntry(entry.blobs ? await manager.resolve(sessionId, entry) : entry, name)
    // An entry may be large, and what a dialect makes of a page many times that.
    return this.#text.length < PAGE_BYTES || this.#flush()
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

/** How a run stands after an entry, as far as that tells. */
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

// A session as a stream of Helix: one for all its turns, from a place on, to the end of the latest.

import type { EndStatus } from '@millrace/dialects'
import { helixDialect, type ResyncPlace, type StreamEvent } from '@millrace/dialects/helix'
import type { BatchReader, ReadBatch } from '@millrace/log/internal'
import { decodeCursor, type Entry } from '@millrace/protocol'
import type { Program } from '../../auth/authorize.ts'
import type { Services } from '../../routing/services.ts'
import type { SessionIdentity } from '../../sessions/session-access.ts'
import { unlessTrimmed } from '../../sessions/unless-trimmed.ts'
import { assertIncarnation, truncatedFrame } from '../../stream/control-frames.ts'
import type { Framing, StreamChannel } from '../../stream/stream-channel.ts'
import { PAGE_BYTES } from '../../stream/stream-settings.ts'

export const helixFraming: Framing = {
  contentType: 'text/event-stream; charset=utf-8',
  heartbeat: () => Buffer.from(': keep-alive\n\n'),
  // A `fail` would say that the run failed: a connection that breaks says nothing of it (law 7).
  fail: () => undefined,
}

export interface HelixStreamOptions {
  readonly sessionId: string
  readonly identity: SessionIdentity
  /** A sequence, or a cursor's token. */
  readonly after: string
  /** Only to the end or pause of this run; otherwise to the end of the latest, through all pauses. */
  readonly runId?: string
  /** Who answers, where that was asked for. */
  readonly program?: Program | undefined
}

interface StreamState {
  readonly ended?: EndStatus
  readonly isPaused: boolean
}

const RUNNING: StreamState = { isPaused: false }

/** One session on one connection. */
export class HelixStream {
  readonly #services: Services
  readonly #channel: StreamChannel
  readonly #following: HelixStreamOptions
  readonly #places = new Map<number, Partial<ResyncPlace>>()
  readonly #encoder = helixDialect.encoder({ placeOf: sequence => this.#places.get(sequence) })
  /** Of the last that was said. */
  #sequence: number
  /** As it was told last. */
  #isPaused = false
  /** How the run that is followed stands, once it does not go on. */
  #status: EndStatus | undefined
  /** Whether something was asked to stop since it was looked at how all stands. */
  #isStopping = false
  #text = ''

  constructor(services: Services, channel: StreamChannel, following: HelixStreamOptions) {
    this.#services = services
    this.#channel = channel
    this.#following = following
    this.#sequence = decodeCursor(following.after).sequence
  }

  /** Says what there is and what comes, to its end; throws what went wrong. */
  async run(): Promise<void> {
    const { manager } = this.#services
    const { sessionId, identity, after } = this.#following
    try {
      await this.#primeEncoder()
      const { signal } = this.#channel
      // Every delta as it was written: who goes on from a place may stand between any two.
      const reader = manager.readBatches(sessionId, { after, follow: true, pageBytes: PAGE_BYTES, signal })
      try {
        await this.#read(reader)
      } finally {
        reader.close()
      }
    } catch (error) {
      if (!this.#channel.isOpen) return
      const { head = 0 } = await truncatedFrame(manager, sessionId, identity, error)
      // Clients look whether it lies after what they have; where it does not, they have what was never here.
      const at = head > this.#sequence ? { atSequence: head } : {}
      this.#write({ type: 'truncated', truncatedAtStep: 0, ...at })
      await this.#flush()
    }
  }

  /** Shows the encoder what it has to know of the run that the place lies in, and says nothing of it. */
  async #primeEncoder(): Promise<void> {
    const { manager } = this.#services
    const { sessionId } = this.#following
    const end = this.#sequence
    if (end === 0) return
    const info = await manager.getInfo(sessionId)
    if (info === null || end > info.head || end < info.floor) return
    const { view } = await manager.view(sessionId)
    const { at = 1 } = view.runs.findLast(run => run.at <= end) ?? {}
    const start = Math.max(at - 1, info.floor)
    const reader = manager.readBatches(sessionId, { after: start, whole: true, follow: true, pageBytes: PAGE_BYTES })
    try {
      for (let reached = start; reached < end && this.#channel.isOpen; ) {
        const piece = await reader.now()
        if (piece === undefined) return
        reached = piece.sequence
        for (const entry of piece.entries) if (entry.sequence <= end) this.#encoder.encode(await this.#resolved(entry))
      }
    } finally {
      reader.close()
    }
  }

  async #read(reader: BatchReader): Promise<void> {
    const { identity } = this.#following
    let isFirst = true
    while (this.#channel.isOpen) {
      const isWaiting = reader.isCaughtUp
      const piece = isWaiting ? await reader.next() : await reader.now()
      if (isWaiting && piece === undefined) return
      if (isFirst) assertIncarnation(identity, reader.place)
      isFirst = false
      if (piece && !(await this.#encode(piece))) return
      if (!reader.isCaughtUp && !this.#isOver) continue
      // Where a run goes on there is nothing to look for.
      const isOpen = reader.status === 'active' && this.#status === undefined && !this.#isStopping
      const { ended, isPaused } = isOpen ? RUNNING : await this.#state(reader)
      if (ended !== undefined) {
        for (const event of this.#encoder.end(ended)) this.#write(event)
        await this.#flush()
        return
      }
      this.#writeStatus(isPaused)
      if (!(await this.#flush())) return
    }
  }

  /** Whether the run that is followed has ended. */
  get #isOver(): boolean {
    return this.#status !== undefined && this.#status !== 'paused'
  }

  /** Says a piece of the log; whether anybody hears it. */
  async #encode({ entries, sequence }: ReadBatch): Promise<boolean> {
    const { runId } = this.#following
    for (const entry of entries) {
      if (entry.chunk.type === 'step-discarded' || entry.chunk.type === 'rewind') await this.#recordPosition(entry)
      this.#sequence = entry.sequence
      for (const event of this.#encoder.encode(await this.#resolved(entry))) this.#write(event)
      if (runId !== undefined && entry.origin.runId === runId) this.#status = statusAfter(entry, this.#status)
      if (entry.chunk.type === 'stop-requested') this.#isStopping = true
      // An entry may be large.
      if (this.#text.length >= PAGE_BYTES && !(await this.#flush())) return false
      if (this.#isOver) break
    }
    if (this.#status === undefined) this.#sequence = sequence
    return this.#flush()
  }

  /** Finds out where a discard or rewind took the session back to. */
  async #recordPosition({ chunk, sequence }: Entry): Promise<void> {
    const { manager } = this.#services
    const { sessionId } = this.#following
    await unlessTrimmed(async () => {
      const { view } = await manager.view(sessionId, sequence)
      const place = { messageCount: view.messages.length }
      this.#places.clear()
      this.#places.set(sequence, place)
      if (chunk.type !== 'rewind') return
      const { toSequence } = chunk
      const [entry] = toSequence > 0 ? await manager.entries(sessionId, toSequence - 1, toSequence) : []
      const checkpoint = entry?.chunk.type === 'checkpoint-created' ? entry.chunk : undefined
      const before = view.runs.findLast(run => run.at <= toSequence)
      const { checkpointId = before?.checkpointId ?? '', stepCount = 0 } = checkpoint ?? {}
      this.#places.set(sequence, { ...place, checkpointId, stepCount })
    })
  }

  /** How what is followed stands: how it ended, or whether it waits. */
  async #state({ place }: BatchReader): Promise<StreamState> {
    const { runId, sessionId } = this.#following
    this.#isStopping = false
    if (this.#isOver) return { ended: this.#status as EndStatus, isPaused: false }
    const info = await this.#services.manager.getInfo(sessionId)
    // There is more to read.
    if (info === null || place?.sequence !== info.head) return RUNNING
    const { run, last, requests, ready, stop } = info.ticket
    const isPaused = run?.paused === true && !ready && !stop
    if (runId === undefined) {
      const isOver = run === null && requests.length === 0
      return isOver && last ? { ended: last.status, isPaused } : { isPaused }
    }
    if (isPaused && run.runId === runId) return { ended: 'paused', isPaused }
    // It has not ended, or that would have been read: it was taken back before it began.
    const isThere = [run, ...requests].some(one => one?.runId === runId)
    return isThere ? { isPaused: false } : { ended: 'aborted', isPaused: false }
  }

  #resolved(entry: Entry): Entry | Promise<Entry> {
    return entry.blobs ? this.#services.manager.resolve(this.#following.sessionId, entry) : entry
  }

  /** Says that the session waits, or does not any more. */
  #writeStatus(isPaused: boolean): void {
    if (isPaused === this.#isPaused) return
    this.#isPaused = isPaused
    this.#write({ type: 'status', status: isPaused ? 'paused' : 'active' })
  }

  #write(event: StreamEvent): void {
    const place =
      event.type === 'chunk'
        ? event.sequence
        : event.type === 'end' || event.type === 'fail'
          ? this.#sequence
          : undefined
    this.#text += `${place === undefined ? '' : `id: ${place}\n`}data: ${JSON.stringify(event)}\n\n`
  }

  async #flush(): Promise<boolean> {
    if (this.#text !== '') this.#channel.write(Buffer.from(this.#text))
    this.#text = ''
    return this.#channel.room()
  }
}

/** How a run stands after an entry of its own. */
function statusAfter({ chunk }: Entry, before: EndStatus | undefined): EndStatus | undefined {
  if (chunk.type === 'run-finished') return chunk.status
  if (chunk.type === 'run-paused') return 'paused'
  return chunk.type === 'run-resumed' ? undefined : before
}

// A session as a Helix stream: all its turns, from a position to the end of the latest.

import type { EndStatus } from '@millrace/dialects'
import { helixDialect, type ResyncPosition, type StreamEvent } from '@millrace/dialects/helix'
import type { BatchReader, ReadBatch } from '@millrace/log/internal'
import { decodeCursor, type Entry, encodeCursor, isGuest } from '@millrace/protocol'
import type { Program } from '../../auth/authorize.ts'
import type { Services } from '../../routing/services.ts'
import type { SessionIdentity } from '../../sessions/session-access.ts'
import { unlessTrimmed } from '../../sessions/unless-trimmed.ts'
import { assertIncarnation, truncatedFrame } from '../../stream/control-frames.ts'
import type { Framing, StreamChannel } from '../../stream/stream-channel.ts'
import { PAGE_BYTES } from '../../stream/stream-settings.ts'
import { EntryWindows } from '../run-stream/entry-windows.ts'
import { removedRun } from '../run-stream/run-stream.ts'

export const helixFraming: Framing = {
  contentType: 'text/event-stream; charset=utf-8',
  heartbeat: () => Buffer.from(': keep-alive\n\n'),
  // A `fail` event would mean that the run failed. A broken connection does not (law 7).
  fail: () => undefined,
}

export interface HelixStreamOptions {
  readonly identity: SessionIdentity
  /** A sequence or a cursor token. */
  readonly after: string
  /** Streams up to the end or pause of this run. @default the end of the latest run, through all pauses */
  readonly runId?: string
  /** The program that the request named. */
  readonly program?: Program | undefined
}

/** How many entries at the end of a log are searched for a step of the root agent. */
const LAST_ENTRIES = 64

interface StreamState {
  readonly ended?: EndStatus
  /** Whether the request of the followed run was removed before it started. */
  readonly isRemoved?: true
  readonly isPaused: boolean
}

const RUNNING: StreamState = { isPaused: false }

/** One session on one connection. */
export class HelixStream {
  readonly #services: Services
  readonly #channel: StreamChannel
  readonly #options: HelixStreamOptions
  readonly #positions = new Map<number, Partial<ResyncPosition>>()
  readonly #encoder = helixDialect.encoder({ placeOf: sequence => this.#positions.get(sequence) })
  /** Positions are sequences, so only the deltas of one part are merged: a client could not have a part of the others. */
  readonly #windows = new EntryWindows({ isSinglePart: true })
  /** The cursor of the last entry that was written. At first the position that the client sent, which may be unproven. */
  #cursor: string
  /** The last status that was sent. */
  #isPaused = false
  /** End status of the followed run, once it is paused or ended. */
  #status: EndStatus | undefined
  /** Whether a stop was requested since the state was last read. */
  #isStopping = false
  #text = ''

  constructor(services: Services, channel: StreamChannel, options: HelixStreamOptions) {
    this.#services = services
    this.#channel = channel
    this.#options = options
    this.#cursor = options.after
  }

  /** Sequence of the last entry that was written. */
  get #sequence(): number {
    return decodeCursor(this.#cursor).sequence
  }

  /** Streams existing and new entries to the end. @throws any error except a truncated position */
  async run(): Promise<void> {
    const { manager } = this.#services
    const { identity, after } = this.#options
    try {
      await this.#primeEncoder()
      const { signal } = this.#channel
      const reader = manager.readBatches(identity.streamId, { after, follow: true, pageBytes: PAGE_BYTES, signal })
      try {
        await this.#read(reader)
      } finally {
        reader.close()
      }
    } catch (error) {
      if (!this.#channel.isOpen) return
      const { head = 0, reason } = await truncatedFrame(manager, identity, error)
      // Clients check whether the position lies after theirs. If it does not, they have entries that this log never had.
      const at = head > this.#sequence ? { atSequence: head } : {}
      const truncatedAtStep = reason === 'past-head' || reason === 'epoch' ? await this.#lastCompleteStep(head) : 0
      this.#write({ type: 'truncated', truncatedAtStep, ...at })
      await this.#flush()
    }
  }

  /**
   * The last complete step at the end of a log that lost entries which the client has. 0 if the steps are unknown or
   * belong to another session.
   */
  async #lastCompleteStep(head: number): Promise<number> {
    const { manager } = this.#services
    const { streamId } = this.#options.identity
    const entries = await unlessTrimmed(() => manager.entries(streamId, Math.max(0, head - LAST_ENTRIES), head))
    for (const { chunk, origin } of entries?.toReversed() ?? []) {
      if (isGuest(origin) || origin.agentId !== origin.runId) continue
      if (chunk.type === 'run-started') return 0
      const { step } = origin
      // The root agent's entries outside of its steps have step 0.
      if (step > 0) return chunk.type === 'checkpoint-created' && chunk.closesStep ? step : step - 1
    }
    return 0
  }

  /** Feeds the encoder the entries of the current run before the position, without writing them. */
  async #primeEncoder(): Promise<void> {
    const { manager } = this.#services
    const { streamId } = this.#options.identity
    const end = this.#sequence
    if (end === 0) return
    const info = await manager.getInfo(streamId)
    if (info === null || end > info.head || end < info.floor) return
    const { view } = await manager.view(streamId)
    const { at = 1 } = view.runs.findLast(run => run.at <= end) ?? {}
    const start = Math.max(at - 1, info.floor)
    const reader = manager.readBatches(streamId, {
      after: start,
      includeDiscarded: true,
      follow: true,
      pageBytes: PAGE_BYTES,
    })
    try {
      for (let reached = start; reached < end && this.#channel.isOpen; ) {
        const batch = await reader.nextAvailable()
        if (batch === undefined) return
        reached = batch.sequence
        for (const entry of batch.entries) if (entry.sequence <= end) this.#encoder.encode(await this.#resolved(entry))
      }
    } finally {
      reader.close()
    }
  }

  async #read(reader: BatchReader): Promise<void> {
    const { identity } = this.#options
    let isFirst = true
    while (this.#channel.isOpen) {
      const isWaiting = reader.isCaughtUp
      const batch = isWaiting ? await reader.next() : await reader.nextAvailable()
      if (isWaiting && batch === undefined) return
      if (isFirst) assertIncarnation(identity, reader.cursor)
      isFirst = false
      if (batch && !(await this.#encode(batch, reader))) return
      if (!reader.isCaughtUp && !this.#isOver) continue
      // An active run needs no lookup.
      const isOpen = reader.status === 'active' && this.#status === undefined && !this.#isStopping
      const { ended, isPaused, isRemoved } = isOpen ? RUNNING : await this.#state(reader)
      if (ended !== undefined) {
        // Proves a position that the client sent without a proof.
        if (reader.cursor?.sequence === this.#sequence) this.#cursor = encodeCursor(reader.cursor)
        const last = isRemoved ? this.#encoder.encode(removedRun(this.#options.runId ?? '')) : []
        for (const event of [...last, ...this.#encoder.end(ended)]) this.#write(event)
        await this.#flush()
        return
      }
      this.#writeStatus(isPaused)
      if (!(await this.#flush())) return
    }
  }

  /** Whether the followed run has ended. */
  get #isOver(): boolean {
    return this.#status !== undefined && this.#status !== 'paused'
  }

  /** Writes a batch of entries. Returns whether the connection is still open. */
  async #encode({ entries, cursor, sequence, replayEnd }: ReadBatch, reader: BatchReader): Promise<boolean> {
    const { runId } = this.#options
    const positionAt = (sequence: number): string => encodeCursor(reader.cursorAt(sequence))
    for (const window of this.#windows.add({ entries, reached: sequence, replayEnd, positionAt })) {
      const [entry] = window.entries as [Entry]
      if (entry.chunk.type === 'step-discarded' || entry.chunk.type === 'rewind') await this.#recordPosition(entry)
      this.#cursor = window.position
      // Merged deltas have the position of the last one: a client that resumes after it has all of them.
      const positioned = { ...(await this.#resolved(entry)), sequence: window.last }
      for (const event of this.#encoder.encode(positioned)) this.#write(event)
      if (runId !== undefined && entry.origin.runId === runId) this.#status = statusAfter(entry, this.#status)
      if (entry.chunk.type === 'stop-requested') this.#isStopping = true
      // Entries can be large.
      if (this.#text.length >= PAGE_BYTES && !(await this.#flush())) return false
      if (this.#isOver) break
    }
    // The client does not have the entries of an open window.
    if (this.#status === undefined && !this.#windows.isOpen) this.#cursor = cursor
    return this.#flush()
  }

  /** Looks up the position that a discard or rewind leads back to. */
  async #recordPosition({ chunk, sequence }: Entry): Promise<void> {
    const { manager } = this.#services
    const { streamId } = this.#options.identity
    await unlessTrimmed(async () => {
      const { view } = await manager.view(streamId, sequence)
      const counts = { messageCount: view.messages.length }
      this.#positions.clear()
      this.#positions.set(sequence, counts)
      if (chunk.type !== 'rewind') return
      const { toSequence } = chunk
      const [entry] = toSequence > 0 ? await manager.entries(streamId, toSequence - 1, toSequence) : []
      const checkpoint = entry?.chunk.type === 'checkpoint-created' ? entry.chunk : undefined
      const before = view.runs.findLast(run => run.at <= toSequence)
      const { checkpointId = before?.checkpointId ?? '', stepCount = 0 } = checkpoint ?? {}
      this.#positions.set(sequence, { ...counts, checkpointId, stepCount })
    })
  }

  /** Reads the state: how the run or session ended, or whether it is paused. */
  async #state({ cursor }: BatchReader): Promise<StreamState> {
    const { runId, identity } = this.#options
    this.#isStopping = false
    if (this.#isOver) return { ended: this.#status as EndStatus, isPaused: false }
    const info = await this.#services.manager.getInfo(identity.streamId)
    // There is more to read.
    if (info === null || cursor?.sequence !== info.head) return RUNNING
    const { run, last, requests, ready, stop } = info.ticket
    const isPaused = run?.paused === true && !ready && !stop
    if (runId === undefined) {
      const isOver = run === null && requests.length === 0
      return isOver && last ? { ended: last.status, isPaused } : { isPaused }
    }
    if (isPaused && run.runId === runId) return { ended: 'paused', isPaused }
    // It has not ended, or its end would have been read: its request was removed before it started.
    const isKnown = [run, ...requests].some(request => request?.runId === runId)
    return isKnown ? { isPaused: false } : { ended: 'aborted', isPaused: false, isRemoved: true }
  }

  #resolved(entry: Entry): Entry | Promise<Entry> {
    return entry.blobs ? this.#services.manager.resolve(this.#options.identity.streamId, entry) : entry
  }

  /** Sends the status if it changed. */
  #writeStatus(isPaused: boolean): void {
    if (isPaused === this.#isPaused) return
    this.#isPaused = isPaused
    this.#write({ type: 'status', status: isPaused ? 'paused' : 'active' })
  }

  /** Writes an event. Its id is the cursor to resume after it, which proves the position: the `sequence` in it proves nothing. */
  #write(event: StreamEvent): void {
    const hasId =
      event.type === 'end' || event.type === 'fail' || (event.type === 'chunk' && event.sequence !== undefined)
    this.#text += `${hasId ? `id: ${this.#cursor}\n` : ''}data: ${JSON.stringify(event)}\n\n`
  }

  async #flush(): Promise<boolean> {
    if (this.#text !== '') this.#channel.write(Buffer.from(this.#text))
    this.#text = ''
    return this.#channel.room()
  }
}

/** The status of a run after one of its entries. */
function statusAfter({ chunk }: Entry, before: EndStatus | undefined): EndStatus | undefined {
  if (chunk.type === 'run-finished') return chunk.status
  if (chunk.type === 'run-paused') return 'paused'
  return chunk.type === 'run-resumed' ? undefined : before
}

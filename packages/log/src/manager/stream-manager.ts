import type { Chunk, Cursor, Entry, Json, View, WriterOrigin } from '@millrace/protocol'
import { type CutRequest, discardDrafts, requestCut } from '../compat/cleanup-to-step.ts'
import {
  type EndStatus,
  endStream,
  failStream,
  pauseStream,
  type RunFailure,
  resumeStream,
} from '../compat/stream-lifecycle.ts'
import { BatchReader, type ReaderOptions } from '../read/batch-reader.ts'
import { type EntriesSince, FoldedLog } from '../read/folded-log.ts'
import { LiveFanout } from '../read/live-fanout.ts'
import { LogHistory } from '../read/log-history.ts'
import { parseCursor, type ReadEntry, type ReadFrom, Reading, withCursor } from '../read/reading.ts'
import { canRewindTo } from '../read/rewind-point.ts'
import { type Retention, trim } from '../retention/trim.ts'
import { resolveBlobs } from '../store/blobs.ts'
import { LogError } from '../store/log-error.ts'
import type { Listed, LogHead, LogStore } from '../store/log-store.ts'
import { randomName } from '../store/names.ts'
import { retryWhileUnavailable, type StoreCall } from '../store/retry.ts'
import { MAIN_LANE } from '../ticket/main-lane.ts'
import { type StreamStatus, statusOf, type Ticket, ticketOf } from '../ticket/ticket.ts'
import { Claims } from '../write/claims.ts'
import { appendAsGuest, type GuestOptions, type GuestOutcome, requestKey } from '../write/guest-append.ts'
import { preambleOf } from '../write/preamble.ts'
import type { Writer, WriterSettings } from '../write/writer.ts'
import { fork } from './fork-stream.ts'
import {
  checkId,
  checkNames,
  checkWhole,
  MOST_DUE,
  MOST_LISTED,
  type StreamManagerOptions,
  settingsOf,
} from './manager-options.ts'

export type { CutRequest } from '../compat/cleanup-to-step.ts'
export type { EntriesSince, FoldedLog, SnapshotRef } from '../read/folded-log.ts'
export type { ReadEntry, ReadFrom } from '../read/reading.ts'
export type { StreamManagerOptions } from './manager-options.ts'

export interface CreateWriterOptions {
  readonly runId: string
  /** The run's id for its root agent, which is what is meant where nothing is said. */
  readonly agentId?: string
  readonly agentType: string
  /** What can drive the run, `agent:name@version`; version 1 of the agent if nothing is said. */
  readonly program?: string
  readonly lane?: string
  readonly step?: number
  /** Takes the log from a writer whose lease still lasts. */
  readonly takeover?: boolean
  /** Whose the log is, if it has to be made. */
  readonly principal?: string
}

export interface StreamInfo extends Omit<LogHead, 'ticket'> {
  readonly streamId: string
  readonly status: StreamStatus
  readonly ticket: Ticket
  /** The same as `head`, under the name of the Helix pages. */
  readonly latestSequence: number
}

/** A log as a list shows it. */
export interface ListedStream extends Omit<Listed, 'ticket'> {
  readonly status: StreamStatus
  /** What people call it, if anybody has said. */
  readonly title?: string
  /** The last line that was said there, if anything was. */
  readonly line?: string
}

/** Logs over a store: writers that claim them, guests that are checked, readers that miss nothing. */
export class StreamManager {
  readonly store: LogStore
  readonly owner: string
  readonly #settings: WriterSettings
  readonly #history: LogHistory
  readonly #fanouts = new Map<string, LiveFanout>()
  readonly #claims: Claims

  constructor(options: StreamManagerOptions) {
    checkNames({ owner: options.owner })
    this.store = options.store
    this.owner = options.owner ?? randomName()
    this.#settings = settingsOf(options)
    this.#history = new LogHistory(this.store, this.#ask)
    this.#claims = new Claims(this.#settings, this.owner, this.#ask)
  }

  /** Makes an empty log for a principal; false if there is one already. */
  async createStream(streamId: string, principal?: string): Promise<boolean> {
    checkId(streamId)
    checkNames({ principal })
    return this.#ask(() => this.store.create(streamId, principal ?? null))
  }

  /**
   * Claims the log, makes it if need be, and takes the next epoch; `busy` while another's lease lasts. Its first batch begins with `run-started`, or with how the
   * run goes on, unless the caller's own does.
   */
  async createWriter(streamId: string, options: CreateWriterOptions): Promise<Writer> {
    const { runId, agentId = runId, agentType, program = `agent:${agentType}@1`, lane = MAIN_LANE, step = 0 } = options
    checkNames({ runId: runId ?? null, agentId, agentType: agentType ?? null, program, lane })
    checkWhole('step', step)
    if (agentId !== runId) {
      const why = 'the root agent has the name of its run, sub-agents are lanes of its writer'
      throw new LogError('invalid', `agentId: expected ${runId} or nothing, found ${agentId}: ${why}`)
    }
    const origin: WriterOrigin = { runId, lane, agentId, agentType, step }
    await this.createStream(streamId, options.principal)
    return this.#claims.claim(streamId, options.takeover ?? false, async (ticket, cursor) => {
      const isOpen = ticket.run?.runId === runId
      const drafts = isOpen ? (await this.#history.openDrafts(streamId, cursor.sequence)).of(runId) : []
      const wasRequested = ticket.requests.some(request => request.runId === runId)
      if (!isOpen && !wasRequested && (await this.#find(streamId, runId))) {
        throw new LogError('refused', `run ${runId} was asked for once, and has ended or was taken back: start another`)
      }
      const preamble = preambleOf({
        origin,
        program,
        drafts,
        request: wasRequested ? await this.#requested(streamId, runId) : undefined,
        head: cursor.sequence,
      })
      return { origin, preamble }
    })
  }

  /**
   * Appends a guest's chunk: an answer, a claim, a request to run or to stop, what the log is called; checked against the ticket (law 5). With a request may go the server's own context
   * of the run, which is internal (law 10). What was decided on what the log said names the version of its ticket then.
   */
  async append(streamId: string, guest: string, chunk: Chunk, options: GuestOptions = {}): Promise<GuestOutcome> {
    checkId(streamId)
    checkNames({ guest: guest ?? null })
    const canRewind = (id: string, to: number) => canRewindTo(this.#history, id, to)
    return appendAsGuest({ ...this.#settings, ask: this.#ask, canRewindTo: canRewind }, streamId, guest, chunk, options)
  }

  /** Chunks from the start, to the end of the latest run; null where there is no such log. */
  async createReader(streamId: string, options: Omit<ReaderOptions, 'after'> = {}): Promise<Reading<Chunk> | null> {
    const reader = this.#reader(streamId, options)
    return (await reader.readHead()) ? new Reading(reader, ({ chunk }) => chunk) : null
  }

  /** Entries after a place, to the end of the latest run. */
  async createResumableReader(streamId: string, options: Omit<ReadFrom, 'merge'> = {}): Promise<Reading<ReadEntry>> {
    // A merged entry has no place of its own to go on from.
    const { after } = options
    const reader = this.#reader(streamId, { ...options, merge: false })
    await reader.readHead()
    const start = typeof after === 'string' && after.includes('.') ? after : undefined
    return new Reading(reader, (entry, place) => withCursor(entry, place as Cursor), start)
  }

  /** Whole batches after a place, for servers that pass them on. */
  readBatches(streamId: string, options: ReadFrom = {}): BatchReader {
    return this.#reader(streamId, options)
  }

  /** Ends the open run: completed, or interrupted or aborted where it was asked to stop. Returns the status. */
  async endStream(streamId: string, output?: Json): Promise<EndStatus> {
    checkId(streamId)
    return endStream(this.#claims, this.#settings, streamId, output)
  }

  /** Ends the open run as failed. */
  async failStream(streamId: string, error: string | RunFailure): Promise<void> {
    checkId(streamId)
    return failStream(this.#claims, this.#settings, streamId, error)
  }

  /**
   * Pauses the open run, for its pendings; without pendings it waits until `resumeStream`. Returns false where it is
   * paused already, and where a pending that this process's writer still saw open was settled meanwhile.
   */
  async pauseStream(streamId: string, reason?: string): Promise<boolean> {
    checkId(streamId)
    return pauseStream(this.#claims, streamId, reason)
  }

  /** Resumes the paused run. Returns false where it is not paused. */
  async resumeStream(streamId: string): Promise<boolean> {
    checkId(streamId)
    return resumeStream(this.#claims, streamId)
  }

  /**
   * Takes back what came after a step of the root agent. With `minSequence`: the drafts of the open run after that place and that step; tells how many lanes.
   * Without: asks for a cut at the end of that step of a run (the latest if none is named), which takes all later runs along; tells which run has to start.
   */
  async cleanupToStep(streamId: string, step: number, options: { minSequence: number }): Promise<number>
  async cleanupToStep(
    streamId: string,
    step: number,
    options?: { runId?: string; nextRunId?: string },
  ): Promise<CutRequest | undefined>
  async cleanupToStep(
    streamId: string,
    step: number,
    options: { minSequence?: number; runId?: string; nextRunId?: string } = {},
  ): Promise<number | CutRequest | undefined> {
    const { minSequence, runId, nextRunId } = options
    checkId(streamId)
    checkNames({ runId, nextRunId })
    checkWhole('step', step)
    checkWhole('minSequence', minSequence ?? 0)
    if (minSequence !== undefined) {
      return this.#claims.with(streamId, writer => discardDrafts(this.#history, writer, step, minSequence))
    }
    const append = (chunk: Chunk) => this.append(streamId, this.owner, chunk)
    return requestCut(this.#history, append, streamId, step, { runId, nextRunId: nextRunId ?? `run-${randomName()}` })
  }

  /** Makes a session of its own from the beginning of another, up to a sequence; what was open there is ended here. */
  async forkStream(streamId: string, at: number, target: string, principal?: string): Promise<void> {
    checkId(streamId)
    checkNames({ target: target ?? null, principal })
    checkWhole('at', at)
    return fork(this.store, this.#history, this.#ask, streamId, at, target, principal ?? null)
  }

  /** What a log is; null where there is none. */
  async getInfo(streamId: string): Promise<StreamInfo | null> {
    checkId(streamId)
    const page = await this.#history.head(streamId)
    if (page === undefined) return null
    const { batches, truncated, ticket: state, ...head } = page
    const ticket = ticketOf(state)
    return { streamId, ...head, ticket, status: statusOf(ticket), latestSequence: head.head }
  }

  /** The logs of a principal, those touched last first, a page at a time. */
  async listStreams(principal: string | undefined, options: { limit?: number; after?: string } = {}) {
    const { limit = 50, after } = options
    checkNames({ principal })
    checkWhole('limit', limit, 1, MOST_LISTED)
    const { streams, next } = await this.#ask(() => this.store.list(principal ?? null, limit, after))
    return { next, streams: streams.map(listedOf) }
  }

  /** Logs that somebody should drive, without a live lease: to one of these programs, or to everybody. */
  async due(programs: readonly string[], limit = 16): Promise<readonly string[]> {
    for (const program of programs) checkNames({ program: program ?? null })
    checkWhole('limit', limit, 1, MOST_DUE)
    return this.#ask(() => this.store.due(programs, limit))
  }

  /** Calls back when something may have happened to a log; an edge trigger, spurious now and then. */
  watch(streamId: string, wake: () => void): () => void {
    checkId(streamId)
    return this.store.watch(streamId, wake)
  }

  /** The view and the ticket of a log, read at one position: its head, or a sequence. What did not change is shared with whoever else asks: nobody writes into it. */
  async view(streamId: string, at?: number): Promise<{ view: View; ticket: Ticket; cursor: Cursor }> {
    if (at === undefined) {
      checkId(streamId)
      const { view, ticket, cursor } = await this.#history.current(streamId)
      return { view, ticket, cursor }
    }
    const { fold, ticket, cursor } = await this.fold(streamId, at)
    return { view: fold.view(), ticket, cursor }
  }

  /** The same as a fold of the caller's own, to continue with. */
  async fold(streamId: string, at?: number): Promise<FoldedLog> {
    checkId(streamId)
    checkWhole('at', at ?? 0)
    return at === undefined ? FoldedLog.from(await this.#history.current(streamId)) : this.#history.at(streamId, at)
  }

  /** The log as it is now, for a driver to continue. Costs what is new since this process last read the log. */
  async takeFold(streamId: string): Promise<FoldedLog> {
    checkId(streamId)
    return this.#history.take(streamId)
  }

  /** Returns a log that was taken, so that the next reader or driver continues from it. The caller applies nothing to it any more. */
  giveBackFold(streamId: string, log: FoldedLog): void {
    this.#history.giveBack(streamId, log)
  }

  /** What lies after a place, to the head, for who has folded all before it; undefined where the log does not hold that place, or where it is so much that another fold costs less. */
  async since(streamId: string, after: Cursor): Promise<EntriesSince | undefined> {
    checkId(streamId)
    return this.#history.since(streamId, after)
  }

  /** The same up to a sequence; throws where not all of it is there, `regressed` where the log does not hold that place. */
  async upTo(streamId: string, after: Cursor, to: number): Promise<EntriesSince> {
    checkId(streamId)
    checkWhole('to', to)
    const entries: Entry[] = []
    let { sequence, epoch } = after
    let bytes = 0
    await this.#history.forEachBatch(streamId, after, to, (said, { mark, body }) => {
      for (const entry of said) entries.push(entry)
      sequence = said.at(-1)?.sequence ?? sequence
      epoch = mark
      bytes += body.length
    })
    return { entries, cursor: { sequence, incarnation: after.incarnation, epoch }, bytes }
  }

  /** The entries of `(after, to]` as the log has them, internal and discarded ones too: for folds on the server. Throws where they are not all there. */
  async entries(streamId: string, after: number, to: number): Promise<Entry[]> {
    checkId(streamId)
    checkWhole('after', after)
    checkWhole('to', to)
    const all: Entry[] = []
    await this.#history.forEachBatch(streamId, after, to, entries => {
      for (const entry of entries) all.push(entry)
    })
    return all
  }

  /** Stores a snapshot of the log as it is now, which bounds a cold start; tells its cursor, and how large it is, about, in bytes. */
  async snapshot(streamId: string): Promise<{ cursor: string; bytes: number }> {
    checkId(streamId)
    return this.#history.storeSnapshot(streamId)
  }

  /** An entry with its large values back in their places. */
  resolve(streamId: string, entry: Entry): Promise<Entry> {
    return this.#ask(() => resolveBlobs(this.store, streamId, entry))
  }

  /** The bytes of a large value: JSON text. */
  blob(streamId: string, hash: string): Promise<Uint8Array | undefined> {
    return this.#ask(() => this.store.getBlob(streamId, hash))
  }

  /** Drops old entries, behind a snapshot, as far as nothing needs them (law 12); tells the floor. */
  async trimStream(streamId: string, retention: Retention): Promise<number> {
    checkId(streamId)
    checkWhole('maxEntries', retention.maxEntries ?? 0)
    checkWhole('maxAgeMs', retention.maxAgeMs ?? 0)
    return trim(this.store, this.#history, this.#ask, streamId, retention)
  }

  /** Removes a log that nothing has happened to for so long, unless a run is open or asked for or somebody has claimed it (law 12), or its ticket has another version than one that is given; tells whether it did. */
  async expireStream(streamId: string, idleMs: number, ifVersion?: string): Promise<boolean> {
    checkId(streamId)
    checkWhole('idleMs', idleMs)
    const page = await this.#history.head(streamId)
    if (page === undefined || page.clock - page.touchedAt < idleMs) return false
    if (ifVersion !== undefined && page.version !== ifVersion) return false
    // Who has claimed it is about to write.
    if (page.lease !== null && page.lease.until > page.clock) return false
    const { run, requests } = ticketOf(page.ticket)
    if (run !== null || requests.length > 0) return false
    this.#history.forget(streamId)
    return this.#ask(() => this.store.remove(streamId, page.version))
  }

  /** Removes all there is of a log, if its ticket has this version where one is given; false if there was none, or another version. */
  async deleteStream(streamId: string, ifVersion?: string): Promise<boolean> {
    checkId(streamId)
    this.#history.forget(streamId)
    return this.#ask(() => this.store.remove(streamId, ifVersion))
  }

  /** Closes the writers of this manager, and lets their logs go; it claims none any more. The store stays open. */
  async close(): Promise<void> {
    await this.#claims.close()
  }

  #reader(streamId: string, options: ReadFrom): BatchReader {
    const { after, fromSequence, ...rest } = options
    checkId(streamId)
    checkNames({ runId: rest.runId })
    const from = parseCursor(after ?? fromSequence)
    const { store, timers, patienceMs } = this.#settings
    const hasEnded = (runId: string, at: number) => this.#history.hasEnded(streamId, runId, at)
    const requestOf = (runId: string) => this.#find(streamId, runId)
    const source = { store, timers, patienceMs, streamId, fanout: () => this.#fanout(streamId), hasEnded, requestOf }
    return new BatchReader(source, { ...rest, after: from })
  }

  /** Number of streams that have live subscribers in this process. */
  get liveStreamCount(): number {
    return [...this.#fanouts.values()].filter(fanout => fanout.hasSubscribers).length
  }

  /** One fanout a log, for as long as it has readers here. */
  #fanout(streamId: string): LiveFanout {
    const { store, timers, patienceMs } = this.#settings
    const there = this.#fanouts.get(streamId)
    if (there) return there
    const fanout = new LiveFanout(store, streamId, timers, patienceMs, () => this.#fanouts.delete(streamId))
    this.#fanouts.set(streamId, fanout)
    return fanout
  }

  #find(streamId: string, runId: string) {
    return this.#ask(() => this.store.find(streamId, requestKey(runId)))
  }

  /** What was asked for, as it was said. */
  async #requested(streamId: string, runId: string): Promise<readonly Entry[]> {
    const found = await this.#find(streamId, runId)
    const said: Entry[] = []
    if (found) await this.#history.forEachBatch(streamId, found.first - 1, found.last, entries => said.push(...entries))
    return said
  }

  readonly #ask: StoreCall = call => retryWhileUnavailable(this.#settings.timers, this.#settings.patienceMs, call)
}

/** What a list shows of a log. */
function listedOf({ ticket: state, ...listed }: Listed): ListedStream {
  const ticket = ticketOf(state)
  const { about: { title } = {}, line } = ticket
  return {
    ...listed,
    status: statusOf(ticket),
    ...(title !== undefined && { title }),
    ...(line !== undefined && { line }),
  }
}

import type { Chunk, Cursor, Entry, Json, View, WriterOrigin } from '@millrace/protocol'
import { MAIN_LANE } from '@millrace/protocol/internal'
import { discardDrafts, type RequestedRewind, requestRewind } from '../compat/cleanup-to-step.ts'
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
import type { Listed, LogHead, LogStore, OldestLog } from '../store/log-store.ts'
import { randomName } from '../store/names.ts'
import { retryWhileUnavailable, type StoreCall } from '../store/retry.ts'
import { hasNotices, isAtRest, type StreamStatus, statusOf, type Ticket, ticketOf } from '../ticket/ticket.ts'
import { Claims } from '../write/claims.ts'
import { appendAsGuest, type GuestOptions, type GuestOutcome, requestKey } from '../write/guest-append.ts'
import { preambleOf } from '../write/preamble.ts'
import type { Writer, WriterSettings } from '../write/writer.ts'
import { forkStream } from './fork-stream.ts'
import {
  checkInteger,
  checkNames,
  checkStreamId,
  MAX_DUE,
  MAX_LISTED,
  type StreamManagerOptions,
  settingsOf,
} from './manager-options.ts'
import { findOwned, type OwnedSession, openOwned } from './owned-session.ts'

export type { RequestedRewind } from '../compat/cleanup-to-step.ts'
export type { EntriesSince, FoldedLog, SnapshotRef } from '../read/folded-log.ts'
export type { ReadEntry, ReadFrom } from '../read/reading.ts'
export type { StreamManagerOptions } from './manager-options.ts'

/** Options of `createWriter`. */
export interface CreateWriterOptions {
  /** Id of the run. */
  readonly runId: string
  /**
   * Must be the run's id, which names the root agent.
   *
   * @default `runId`
   */
  readonly agentId?: string
  /** Name of the agent, for the origin of the entries. */
  readonly agentType: string
  /**
   * The program that can drive the run, `agent:name@version`.
   *
   * @default version 1 of `agentType`
   */
  readonly program?: string
  /** Name of the main lane. @default 'main' */
  readonly lane?: string
  /** Step of the first entries. @default 0 */
  readonly step?: number
  /**
   * Takes the log from another writer, even while the lease of that writer is valid.
   *
   * @default false
   */
  readonly takeover?: boolean
  /** The owner of the log, if it has to be created. @default no owner */
  readonly principal?: string
}

/** A log without its entries: head, status and ticket. */
export interface StreamInfo extends Omit<LogHead, 'ticket'> {
  /** Id of the log. */
  readonly streamId: string
  /** Status of the log, derived from its ticket. */
  readonly status: StreamStatus
  /** The parsed ticket. */
  readonly ticket: Ticket
  /** Equal to `head`. Named as in the documentation of Helix. */
  readonly latestSequence: number
}

/** A log in a list. */
export interface ListedStream extends Omit<Listed, 'ticket'> {
  /** Status of the log, derived from its ticket. */
  readonly status: StreamStatus
  /** The title, if set. */
  readonly title?: string
  /** Preview line of the last text, if any. */
  readonly line?: string
}

/** A log in a page of the least recently touched logs. */
export interface OldestStream extends Omit<OldestLog, 'ticket'> {
  /** Status of the log, derived from its ticket. */
  readonly status: StreamStatus
  /** The parsed ticket. */
  readonly ticket: Ticket
}

/**
 * Manages the logs of a store: creates writers, checks the entries of guests, and opens readers that miss no entry. Every
 * method throws a `LogError` with the code `invalid` for an invalid argument, and `unavailable` if the store cannot be
 * reached.
 */
export class StreamManager {
  /** The store of all logs of this manager. */
  readonly store: LogStore
  /** Name of this process in its leases. */
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
    this.#history = new LogHistory(this.store, this.#call)
    this.#claims = new Claims(this.#settings, this.owner, this.#call, streamId => this.#fanouts.get(streamId))
  }

  /** Creates an empty log for a principal. Returns false if it exists. */
  async createStream(streamId: string, principal?: string): Promise<boolean> {
    checkStreamId(streamId)
    checkNames({ principal })
    return this.#call(() => this.store.create(streamId, principal ?? null))
  }

  /**
   * Claims the log under a new epoch, and creates it if necessary. The first batch begins with `run-started`, or with
   * the entries that continue the run, unless the caller's batch does.
   *
   * @throws LogError `busy` while another writer's lease is valid, unless `takeover`.
   */
  async createWriter(streamId: string, options: CreateWriterOptions): Promise<Writer> {
    const { runId, agentId = runId, agentType, program = `agent:${agentType}@1`, lane = MAIN_LANE, step = 0 } = options
    checkNames({ runId: runId ?? null, agentId, agentType: agentType ?? null, program, lane })
    checkInteger('step', step)
    if (agentId !== runId) {
      const why = 'the root agent has the id of its run, sub-agents are lanes of its writer'
      throw new LogError('invalid', `agentId: expected ${runId} or nothing, found ${agentId}: ${why}`)
    }
    const origin: WriterOrigin = { runId, lane, agentId, agentType, step }
    await this.createStream(streamId, options.principal)
    return this.#claims.claim(streamId, options.takeover ?? false, async (ticket, cursor) => {
      const isOpen = ticket.run?.runId === runId
      const drafts = isOpen ? (await this.#history.openDrafts(streamId, cursor.sequence)).of(runId) : []
      const wasRequested = ticket.requests.some(request => request.runId === runId)
      if (!isOpen && !wasRequested && (await this.#find(streamId, runId))) {
        throw new LogError(
          'refused',
          `run ${runId} was requested before and has ended or was withdrawn: start a run with another id`,
        )
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
   * Appends a guest's chunk: an answer, a claim, a request to run or to stop, or session info; checked against the
   * ticket (law 5). `context` is the server's internal context of a requested run (law 10). `ifVersion` is the
   * ticket's version on which the guest decided.
   *
   * @throws LogError `invalid` or `too-large` if the chunk can never be appended.
   */
  async append(streamId: string, guest: string, chunk: Chunk, options: GuestOptions = {}): Promise<GuestOutcome> {
    checkStreamId(streamId)
    checkNames({ guest: guest ?? null })
    const canRewind = (id: string, to: number) => canRewindTo(this.#history, id, to)
    return appendAsGuest(
      { ...this.#settings, call: this.#call, canRewindTo: canRewind },
      streamId,
      guest,
      chunk,
      options,
    )
  }

  /** Reads chunks from the start to the end of the latest run. Returns null if the log does not exist. */
  async createReader(streamId: string, options: Omit<ReaderOptions, 'after'> = {}): Promise<Reading<Chunk> | null> {
    const reader = this.#reader(streamId, options)
    return (await reader.readHead()) ? new Reading(reader, ({ chunk }) => chunk) : null
  }

  /** Reads entries after a cursor to the end of the latest run. */
  async createResumableReader(streamId: string, options: Omit<ReadFrom, 'merge'> = {}): Promise<Reading<ReadEntry>> {
    // A merged entry has no cursor of its own.
    const { after } = options
    const reader = this.#reader(streamId, { ...options, merge: false })
    await reader.readHead()
    const start = typeof after === 'string' && after.includes('.') ? after : undefined
    return new Reading(reader, (entry, cursor) => withCursor(entry, cursor as Cursor), start)
  }

  /** Reads whole batches after a cursor, for servers that forward them. */
  readBatches(streamId: string, options: ReadFrom = {}): BatchReader {
    return this.#reader(streamId, options)
  }

  /**
   * Ends the open run: as completed, or as interrupted or aborted if a stop was requested. Returns the status.
   *
   * @throws LogError `refused` if no run is open, `busy` while another process writes to the log.
   */
  async endStream(streamId: string, output?: Json): Promise<EndStatus> {
    checkStreamId(streamId)
    return endStream(this.#claims, this.#settings, streamId, output)
  }

  /**
   * Ends the open run as failed.
   *
   * @throws LogError `refused` if no run is open, `busy` while another process writes to the log.
   */
  async failStream(streamId: string, error: string | RunFailure): Promise<void> {
    checkStreamId(streamId)
    return failStream(this.#claims, this.#settings, streamId, error)
  }

  /**
   * Pauses the open run, for its pendings; without pendings it waits until `resumeStream`. Returns false if it is
   * paused already, or if a pending that this process's writer still saw open was settled meanwhile.
   *
   * @throws LogError `refused` if no run is open, `busy` while another process writes to the log.
   */
  async pauseStream(streamId: string, reason?: string): Promise<boolean> {
    checkStreamId(streamId)
    return pauseStream(this.#claims, this.#history, streamId, reason)
  }

  /**
   * Resumes the paused run. Returns false if it is not paused.
   *
   * @throws LogError `busy` while another process writes to the log.
   */
  async resumeStream(streamId: string): Promise<boolean> {
    checkStreamId(streamId)
    return resumeStream(this.#claims, streamId)
  }

  /**
   * Retracts the entries after a step of the root agent. With `minSequence`: discards the open run's drafts after
   * that sequence and that step, and returns the number of lanes. Without: requests a rewind to the end of that step
   * of a run (by default the latest), which retracts all later runs too, and returns the run that has to start.
   *
   * @throws LogError `absent` without the log, `refused` if the run has not finished that step or a rewind is refused,
   * `busy` if other writes do not stop.
   */
  async cleanupToStep(streamId: string, step: number, options: { minSequence: number }): Promise<number>
  async cleanupToStep(
    streamId: string,
    step: number,
    options?: { runId?: string; nextRunId?: string },
  ): Promise<RequestedRewind | undefined>
  async cleanupToStep(
    streamId: string,
    step: number,
    options: { minSequence?: number; runId?: string; nextRunId?: string } = {},
  ): Promise<number | RequestedRewind | undefined> {
    const { minSequence, runId, nextRunId } = options
    checkStreamId(streamId)
    checkNames({ runId, nextRunId })
    checkInteger('step', step)
    checkInteger('minSequence', minSequence ?? 0)
    if (minSequence !== undefined) {
      return this.#claims.with(streamId, writer => discardDrafts(this.#history, writer, step, minSequence))
    }
    const append = (chunk: Chunk) => this.append(streamId, this.owner, chunk)
    return requestRewind(this.#history, append, streamId, step, {
      runId,
      nextRunId: nextRunId ?? `run-${randomName()}`,
    })
  }

  /**
   * Creates a session from the beginning of another, up to a sequence. Runs that are open there are ended in the
   * copy.
   *
   * @throws LogError `absent` without the log, `exists` if the target exists, `truncated` without the entry.
   */
  async forkStream(streamId: string, at: number, target: string, principal?: string): Promise<void> {
    checkStreamId(streamId)
    checkNames({ target: target ?? null, principal })
    checkInteger('at', at)
    return forkStream(this.store, this.#history, this.#call, streamId, at, target, principal ?? null)
  }

  /** The state of a log; null if it does not exist. */
  async getInfo(streamId: string): Promise<StreamInfo | null> {
    checkStreamId(streamId)
    const page = await this.#history.head(streamId)
    if (page === undefined) return null
    const { batches, truncated, ticket: state, ...head } = page
    const ticket = ticketOf(state)
    return { streamId, ...head, ticket, status: statusOf(ticket), latestSequence: head.head }
  }

  /**
   * The log of a session, by the session's owner and id; null if the owner has no such session. Sessions of several
   * owners may have the same id: the id of the log, `streamId`, then differs. `sessionId` may be the id of the log, too.
   */
  async findSession(owner: string | null, sessionId: string): Promise<StreamInfo | null> {
    checkStreamId(sessionId)
    checkNames({ owner: owner ?? undefined })
    return findOwned(this, owner, sessionId)
  }

  /**
   * Finds the log of a session by the session's owner and id, or creates it. Returns undefined if `owner` is null and
   * the session belongs to an owner.
   */
  async openSession(owner: string | null, sessionId: string): Promise<OwnedSession | undefined> {
    checkStreamId(sessionId)
    checkNames({ owner: owner ?? undefined })
    return openOwned(this, owner, sessionId)
  }

  /** A page of the logs of a principal, last touched first. */
  async listStreams(principal: string | undefined, options: { limit?: number; after?: string } = {}) {
    const { limit = 50, after } = options
    checkNames({ principal })
    checkInteger('limit', limit, 1, MAX_LISTED)
    const { streams, next } = await this.#call(() => this.store.list(principal ?? null, limit, after))
    return { next, streams: streams.map(listedOf) }
  }

  /** A page of the logs of all principals, least recently touched first, and the store's clock. */
  async listOldestStreams(options: { limit?: number; after?: string } = {}) {
    const { limit = 50, after } = options
    checkInteger('limit', limit, 1, MAX_LISTED)
    const { streams, next, clock } = await this.#call(() => this.store.listOldest(limit, after))
    return { next, clock, streams: streams.map(oldestOf) }
  }

  /** Logs that need a driver and have no live lease: for one of these programs, or for every driver. */
  async due(programs: readonly string[], limit = 16): Promise<readonly string[]> {
    for (const program of programs) checkNames({ program: program ?? null })
    checkInteger('limit', limit, 1, MAX_DUE)
    return this.#call(() => this.store.due(programs, limit))
  }

  /** Calls back when a log may have changed. Edge-triggered; may be spurious. */
  watch(streamId: string, wake: () => void): () => void {
    checkStreamId(streamId)
    return this.store.watch(streamId, wake)
  }

  /**
   * The view and the ticket of a log at its head, or at a sequence. Parts of the view are shared between callers and
   * must not be changed.
   *
   * @throws LogError `absent` without the log, `invalid` for a sequence above the head, `truncated` for one that was
   * trimmed.
   */
  async view(streamId: string, at?: number): Promise<{ view: View; ticket: Ticket; cursor: Cursor }> {
    if (at === undefined) {
      checkStreamId(streamId)
      const { view, ticket, cursor } = await this.#history.current(streamId)
      return { view, ticket, cursor }
    }
    const { fold, ticket, cursor } = await this.fold(streamId, at)
    return { view: fold.view(), ticket, cursor }
  }

  /** Like `view`, but returns a fold that the caller may continue. @throws LogError as `view` */
  async fold(streamId: string, at?: number): Promise<FoldedLog> {
    checkStreamId(streamId)
    checkInteger('at', at ?? 0)
    return at === undefined ? FoldedLog.from(await this.#history.current(streamId)) : this.#history.at(streamId, at)
  }

  /**
   * The current log, for a driver to continue. Reads only entries that are new since this process last read the log.
   *
   * @throws LogError `absent` without the log.
   */
  async takeFold(streamId: string): Promise<FoldedLog> {
    checkStreamId(streamId)
    return this.#history.take(streamId)
  }

  /** Returns a log that was taken, so that the next reader or driver continues from it. The caller applies nothing to it any more. */
  giveBackFold(streamId: string, log: FoldedLog): void {
    this.#history.giveBack(streamId, log)
  }

  /**
   * The entries after a cursor up to the head, to continue a fold. Undefined if the log does not hold the cursor, or
   * if there are so many that a new fold is cheaper.
   */
  async since(streamId: string, after: Cursor): Promise<EntriesSince | undefined> {
    checkStreamId(streamId)
    return this.#history.since(streamId, after)
  }

  /**
   * The entries after a cursor up to a sequence.
   *
   * @throws LogError `truncated` if entries are missing, `regressed` if the log does not hold the cursor.
   */
  async upTo(streamId: string, after: Cursor, to: number): Promise<EntriesSince> {
    checkStreamId(streamId)
    checkInteger('to', to)
    const entries: Entry[] = []
    let { sequence, epoch } = after
    let bytes = 0
    await this.#history.forEachBatch(streamId, after, to, (batch, { mark, body }) => {
      for (const entry of batch) entries.push(entry)
      sequence = batch.at(-1)?.sequence ?? sequence
      epoch = mark
      bytes += body.length
    })
    return { entries, cursor: { sequence, incarnation: after.incarnation, epoch }, bytes }
  }

  /**
   * The entries of `(after, to]` as stored, with internal and discarded ones: for folds on the server.
   *
   * @throws LogError `truncated` if entries are missing.
   */
  async entries(streamId: string, after: number, to: number): Promise<Entry[]> {
    checkStreamId(streamId)
    checkInteger('after', after)
    checkInteger('to', to)
    const all: Entry[] = []
    await this.#history.forEachBatch(streamId, after, to, entries => {
      for (const entry of entries) all.push(entry)
    })
    return all
  }

  /**
   * Stores a snapshot at the head, which limits the cost of a cold start. Returns its cursor and its approximate size
   * in bytes.
   *
   * @throws LogError `absent` without the log.
   */
  async snapshot(streamId: string): Promise<{ cursor: string; bytes: number }> {
    checkStreamId(streamId)
    return this.#history.storeSnapshot(streamId)
  }

  /** Returns the entry with the values of its blobs. */
  resolve(streamId: string, entry: Entry): Promise<Entry> {
    return this.#call(() => resolveBlobs(this.store, streamId, entry))
  }

  /** The bytes of a blob: JSON text. */
  blob(streamId: string, hash: string): Promise<Uint8Array | undefined> {
    return this.#call(() => this.store.getBlob(streamId, hash))
  }

  /** Drops old entries that are not needed, after storing a snapshot (law 12). Returns the floor. */
  async trimStream(streamId: string, retention: Retention): Promise<number> {
    checkStreamId(streamId)
    checkInteger('maxEntries', retention.maxEntries ?? 0)
    checkInteger('maxAgeMs', retention.maxAgeMs ?? 0)
    return trim(this.store, this.#history, this.#call, streamId, retention)
  }

  /**
   * Removes a log that was not touched for `idleMs` ms, unless a run is open or requested or the log is claimed (law
   * 12), or observers may still be notified of a run, which takes at most a day, or its ticket has another version than
   * `ifVersion`. Returns whether it was removed.
   */
  async expireStream(streamId: string, idleMs: number, ifVersion?: string): Promise<boolean> {
    checkStreamId(streamId)
    checkInteger('idleMs', idleMs)
    const page = await this.#history.head(streamId)
    if (page === undefined || page.clock - page.touchedAt < idleMs) return false
    if (ifVersion !== undefined && page.version !== ifVersion) return false
    // The claimant is about to write.
    if (page.lease !== null && page.lease.until > page.clock) return false
    const ticket = ticketOf(page.ticket)
    if (!isAtRest(ticket) || hasNotices(ticket, page.clock)) return false
    this.#history.forget(streamId)
    return this.#call(() => this.store.remove(streamId, page.version))
  }

  /**
   * Lets the store remove a log by itself when `ms` ms have passed without a claim or a request, also if no process is
   * left. Returns false if a run is open or requested, if the log is claimed or missing, and on stores that cannot do
   * it: only Redis can.
   */
  async expireStreamAfter(streamId: string, ms: number): Promise<boolean> {
    checkStreamId(streamId)
    checkInteger('ms', ms)
    if (this.store.expireAfter === undefined) return false
    for (let refused: string | undefined; ; ) {
      const page = await this.#history.head(streamId)
      if (page === undefined || page.lease !== null || !isAtRest(ticketOf(page.ticket))) return false
      // The ticket has not moved, so the store refuses for another reason.
      if (page.version === refused) return false
      if (await this.#call(async () => this.store.expireAfter?.(streamId, ms, page.version))) return true
      refused = page.version
    }
  }

  /**
   * Removes a log, if its ticket has the version `ifVersion` where given. Returns false if the log does not exist or
   * has another version.
   */
  async deleteStream(streamId: string, ifVersion?: string): Promise<boolean> {
    checkStreamId(streamId)
    this.#history.forget(streamId)
    return this.#call(() => this.store.remove(streamId, ifVersion))
  }

  /**
   * Closes the writers of this manager and releases their logs. It cannot claim logs afterwards. The store stays
   * open.
   */
  async close(): Promise<void> {
    await this.#claims.close()
  }

  #reader(streamId: string, options: ReadFrom): BatchReader {
    const { after, fromSequence, ...rest } = options
    checkStreamId(streamId)
    checkNames({ runId: rest.runId })
    const from = parseCursor(after ?? fromSequence)
    const { store, timers, retryTimeoutMs } = this.#settings
    const hasEnded = (runId: string, at: number) => this.#history.hasEnded(streamId, runId, at)
    const requestOf = (runId: string) => this.#find(streamId, runId)
    const source = {
      store,
      timers,
      retryTimeoutMs,
      streamId,
      fanout: () => this.#fanout(streamId),
      hasEnded,
      requestOf,
    }
    return new BatchReader(source, { ...rest, after: from })
  }

  /** Number of streams that have live subscribers in this process. */
  get liveStreamCount(): number {
    return [...this.#fanouts.values()].filter(fanout => fanout.hasSubscribers).length
  }

  /** One fan-out per log, for as long as it has readers in this process. */
  #fanout(streamId: string): LiveFanout {
    const { store, timers, retryTimeoutMs } = this.#settings
    const existing = this.#fanouts.get(streamId)
    if (existing) return existing
    const fanout = new LiveFanout(store, streamId, timers, retryTimeoutMs, () => this.#fanouts.delete(streamId))
    this.#fanouts.set(streamId, fanout)
    return fanout
  }

  #find(streamId: string, runId: string) {
    return this.#call(() => this.store.find(streamId, requestKey(runId)))
  }

  /** The entries of a run's request. */
  async #requested(streamId: string, runId: string): Promise<readonly Entry[]> {
    const found = await this.#find(streamId, runId)
    const request: Entry[] = []
    if (found)
      await this.#history.forEachBatch(streamId, found.first - 1, found.last, entries => request.push(...entries))
    return request
  }

  readonly #call: StoreCall = call => retryWhileUnavailable(this.#settings.timers, this.#settings.retryTimeoutMs, call)
}

function oldestOf({ ticket: state, ...listed }: OldestLog): OldestStream {
  const ticket = ticketOf(state)
  return { ...listed, ticket, status: statusOf(ticket) }
}

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

// Drives sessions: claims the log, decides which run is next, and drives it until nothing is left to do or another
// process takes over.

import { LogError, type StreamInfo, type Ticket } from '@millrace/log'
import { MAX_DUE, mustStop } from '@millrace/log/internal'
import { Snapshots } from '../session/snapshots.ts'
import { StoreClock } from '../session/store-clock.ts'
import { Drive, type DriveSettings } from './drive.ts'
import type { EngineDriver } from './engine.ts'

/**
 * How long to skip a session in which only other processes can deliver notices, in ms, unless it has an earlier
 * deadline.
 */
const SKIP_MS = 30_000
/** Poll interval for such deadlines while no notice can be delivered, in ms. */
const NOTICE_POLL_MS = 5000

/**
 * After an outage of the store, expired leases are left to their owners for this long, in ms. Owners and other processes
 * reach the store at about the same time, and an owner that lives renews its lease.
 */
export const OUTAGE_GRACE_MS = 3000
/** A query for due sessions that takes longer means an outage, in ms: it is retried, or hangs. */
const OUTAGE_MS = 1000

/** Log errors that mean that another process was faster. */
const EXPECTED_ERRORS: ReadonlySet<string> = new Set(['busy', 'absent', 'closed', 'refused'])
/** Log errors that end a drive: another process has the log, or the next one to reach it continues. */
const LOST_LOG_ERRORS: ReadonlySet<string> = new Set(['fenced', 'regressed', 'unavailable'])

export class Driver implements EngineDriver {
  readonly #settings: DriveSettings
  readonly #snapshots: Snapshots
  readonly #handover = new AbortController()
  /** Active drives. A set, because a shared abort signal would have to scan its listeners. */
  readonly #drives = new Set<Drive>()
  #isAbandoned = false
  /** Sessions to skip, with the time until when. */
  readonly #skipped = new Map<string, number>()
  #nextNoticePollAt = Number.NEGATIVE_INFINITY
  #areRunsFirst = false
  #isStoreAvailable = true
  #graceUntil = Number.NEGATIVE_INFINITY

  constructor(settings: DriveSettings) {
    this.#settings = settings
    this.#snapshots = new Snapshots(settings.manager, settings.logger)
  }

  /** The sessions with due work that can be driven here. */
  async due(limit: number): Promise<readonly string[]> {
    const { manager, programs, logger, timers } = this.#settings
    const askedAt = timers.now()
    try {
      const [runs, withNotices] = await Promise.all([
        manager.due([...programs.keys()], limit),
        this.#sessionsWithNotices(limit),
      ])
      const now = timers.now()
      if (!this.#isStoreAvailable || now - askedAt > OUTAGE_MS) this.#graceUntil = now + OUTAGE_GRACE_MS
      this.#isStoreAvailable = true
      this.#areRunsFirst = !this.#areRunsFirst
      return interleave(this.#areRunsFirst ? [runs, withNotices] : [withNotices, runs]).slice(0, limit)
    } catch (error) {
      // Logged once, because it is polled.
      if (this.#isStoreAvailable && !this.#isHandingOver) logger.warn('failed to query due sessions', { cause: error })
      this.#isStoreAvailable = false
      throw error
    }
  }

  /**
   * Sessions with notices that are due, or with deadlines behind notices. Queried separately, so that runs do not wait
   * behind them.
   */
  async #sessionsWithNotices(limit: number): Promise<readonly string[]> {
    const { manager, notices, timers } = this.#settings
    const { names } = notices
    const now = timers.now()
    if (names.length === 0 || now < this.#nextNoticePollAt) return []
    for (const [sessionId, until] of this.#skipped) if (until <= now) this.#skipped.delete(sessionId)
    // Skipped sessions must not hide others.
    const due = await manager.due(names, Math.min(limit + this.#skipped.size, MAX_DUE))
    const found = due.filter(sessionId => !this.#skipped.has(sessionId))
    const hasMore = found.length >= limit || (notices.hasRoom && this.#skipped.size <= limit)
    if (!hasMore) this.#nextNoticePollAt = now + NOTICE_POLL_MS
    return found
  }

  /** Hands every run over at its next commit from now on. */
  handOver(): void {
    this.#handover.abort()
  }

  /** Aborts now. The next driver retries the work in flight. */
  abandon(): void {
    this.handOver()
    this.#isAbandoned = true
    const reason = new LogError('closed', 'the driver was aborted')
    for (const drive of this.#drives) drive.abandon(reason)
  }

  /** Drives a session while it has due work. Failures of a run are in the log. @throws other errors. */
  async drive(sessionId: string): Promise<void> {
    const { logger } = this.#settings
    try {
      while (!this.#isHandingOver && (await this.#driveOne(sessionId)));
      await this.#expireAtRest(sessionId)
    } catch (error) {
      const code = error instanceof LogError ? error.code : ''
      if (EXPECTED_ERRORS.has(code)) return
      if (LOST_LOG_ERRORS.has(code)) return logger.warn('lost the lease of a session', { sessionId, cause: error })
      logger.error('failed to drive a session', { sessionId, cause: error })
      throw error
    } finally {
      if (!this.#isAbandoned) await this.#snapshots.settled(sessionId)
    }
  }

  /** Lets the store remove a session by itself if no run is open or requested. The next request ends that. */
  async #expireAtRest(sessionId: string): Promise<void> {
    const { manager, expireAfterMs, logger } = this.#settings
    if (expireAfterMs === undefined || this.#isAbandoned) return
    try {
      await manager.expireStreamAfter(sessionId, expireAfterMs)
    } catch (cause) {
      logger.warn('failed to set the expiry of a session', { sessionId, cause })
    }
  }

  get #isHandingOver(): boolean {
    return this.#handover.signal.aborted
  }

  /** Drives one run if one is due. Returns whether to look for another. */
  async #driveOne(sessionId: string): Promise<boolean> {
    const { manager, programs, timers, notices } = this.#settings
    const info = await manager.getInfo(sessionId)
    const readAt = timers.now()
    const clock = info && new StoreClock(timers, info.clock)
    const isLeftToOthers = info !== null && (await notices.takeDue(info))
    const next = info ? nextRunOf(info.ticket, info.clock) : undefined
    const definition = next && programs.get(next.program)
    if (!clock || !next || (definition === undefined && !next.mustStop)) {
      if (info && isLeftToOthers) this.#skipped.set(sessionId, readAt + Math.min(SKIP_MS, untilNextDeadline(info)))
      return false
    }
    if (isLeased(info) || (info.lease !== null && timers.now() < this.#graceUntil)) return false
    const { runId, program } = next
    const writer = await manager.createWriter(sessionId, { runId, program, agentType: agentTypeOf(program) })
    try {
      // The ticket may have changed since it was read (law 4).
      const isNext = nextRunOf(writer.ticket, info.clock)?.runId === runId
      if (this.#isHandingOver || !isNext) return !isNext
      const drive = new Drive(this.#settings, {
        writer,
        program,
        principal: info.principal,
        definition,
        snapshots: this.#snapshots,
        clock,
        handover: this.#handover.signal,
      })
      this.#drives.add(drive)
      const hasMore = await drive.run().finally(() => this.#drives.delete(drive))
      const { run } = writer.ticket
      if (run === null || run.paused) this.#snapshots.takeAtRest(sessionId, writer.cursor.sequence)
      return hasMore
    } finally {
      await writer.close()
    }
  }
}

/** Whether another process has a valid lease of the log. */
const isLeased = ({ lease, clock }: StreamInfo): boolean => lease !== null && lease.until > clock

/** Time until the next deadline of a run, in ms. */
function untilNextDeadline({ ticket: { pendings }, clock }: StreamInfo): number {
  const times = pendings.flatMap(({ deadline = clock }) => (deadline > clock ? [deadline - clock] : []))
  return Math.min(Number.POSITIVE_INFINITY, ...times)
}

/** Interleaves lists, without duplicates. */
function interleave(lists: readonly (readonly string[])[]): string[] {
  const found = new Set<string>()
  const maxLength = Math.max(...lists.map(({ length }) => length))
  for (let i = 0; i < maxLength; i++) {
    for (const { [i]: sessionId } of lists) if (sessionId !== undefined) found.add(sessionId)
  }
  return [...found]
}

/** The run to continue or to start. */
function nextRunOf(ticket: Ticket, clock: number): { runId: string; program: string; mustStop: boolean } | undefined {
  const { run, requests, ready, pendings } = ticket
  if (run === null) return requests[0] && { ...requests[0], mustStop: false }
  const isLate = pendings.some(({ deadline }) => deadline !== undefined && deadline <= clock)
  const isWaiting = run.paused && !ready && !isLate && !mustStop(ticket)
  return isWaiting ? undefined : { ...run, mustStop: mustStop(ticket) }
}

const agentTypeOf = (program: string): string => /^\w+:(.*)@/.exec(program)?.[1] ?? program

// Drives what is due in a session: takes its log, looks after that, decides, and works until there is nothing left to do or somebody else is to go on.

import { LogError, type StreamInfo, type Ticket } from '@millrace/log'
import { MOST_DUE, mustStop } from '@millrace/log/internal'
import { Snapshots } from '../session/snapshots.ts'
import { StoreClock } from '../session/store-clock.ts'
import { Drive, type DriveSettings } from './drive.ts'
import type { EngineDriver } from './engine.ts'

/** How long a session is not looked at in which only something is due that is told by others, unless it has a deadline before. */
const LEFT_MS = 30_000
/** How often to look for such deadlines where nothing can be told. */
const LOOK_MS = 5000

/** What happens to whoever is not alone, or comes too late. */
const PASSING: ReadonlySet<string> = new Set(['busy', 'absent', 'closed', 'refused'])
/** What took the log away while it was driven: whoever has it, or reaches it first, goes on. */
const LOST: ReadonlySet<string> = new Set(['fenced', 'regressed', 'unavailable'])

export class Driver implements EngineDriver {
  readonly #settings: DriveSettings
  readonly #snapshots: Snapshots
  readonly #handover = new AbortController()
  /** Those under way: one signal for all of them would look through its listeners for each that comes. */
  readonly #drives = new Set<Drive>()
  #isAbandoned = false
  /** Sessions that are left to others, and until when: nothing of what is due there is for here. */
  readonly #left = new Map<string, number>()
  #looksAt = Number.NEGATIVE_INFINITY
  #isRunFirst = false
  #isInReach = true

  constructor(settings: DriveSettings) {
    this.#settings = settings
    this.#snapshots = new Snapshots(settings.manager, settings.logger)
  }

  /** The sessions in which something is due that can be driven here. */
  async due(limit: number): Promise<readonly string[]> {
    const { manager, programs, logger } = this.#settings
    try {
      const [runs, owing] = await Promise.all([manager.due([...programs.keys()], limit), this.#owing(limit)])
      this.#isInReach = true
      this.#isRunFirst = !this.#isRunFirst
      return inTurns(this.#isRunFirst ? [runs, owing] : [owing, runs]).slice(0, limit)
    } catch (error) {
      // Said once: it is asked for again and again.
      if (this.#isInReach && !this.#isLeaving) logger.warn('nobody can tell what is due', { cause: error })
      this.#isInReach = false
      throw error
    }
  }

  /** The sessions in which something is owed to observers, and may be told here or hide a deadline: apart, so that however many there are no run waits behind them. */
  async #owing(limit: number): Promise<readonly string[]> {
    const { manager, notices, timers } = this.#settings
    const { names } = notices
    const now = timers.now()
    if (names.length === 0 || now < this.#looksAt) return []
    for (const [sessionId, until] of this.#left) if (until <= now) this.#left.delete(sessionId)
    // Those that are left to others must not hide the rest.
    const due = await manager.due(names, Math.min(limit + this.#left.size, MOST_DUE))
    const found = due.filter(sessionId => !this.#left.has(sessionId))
    const isMore = found.length >= limit || (notices.hasRoom && this.#left.size <= limit)
    if (!isMore) this.#looksAt = now + LOOK_MS
    return found
  }

  /** From now on every run is handed over at its next commit. */
  leave(): void {
    this.#handover.abort()
  }

  /** Lets go at once: what is under way is cut off, and tried again by whoever goes on. */
  abandon(): void {
    this.leave()
    this.#isAbandoned = true
    const reason = new LogError('closed', 'the driver lets go')
    for (const drive of this.#drives) drive.abandon(reason)
  }

  /** Drives a session as long as something is due in it. What goes wrong in a run is in the log; throws what went wrong beside it. */
  async drive(sessionId: string): Promise<void> {
    const { logger } = this.#settings
    try {
      while (!this.#isLeaving && (await this.#driveOne(sessionId)));
    } catch (error) {
      const code = error instanceof LogError ? error.code : ''
      if (PASSING.has(code)) return
      if (LOST.has(code)) return logger.warn('a session was let go', { sessionId, cause: error })
      logger.error('a session could not be driven', { sessionId, cause: error })
      throw error
    } finally {
      if (!this.#isAbandoned) await this.#snapshots.settled(sessionId)
    }
  }

  get #isLeaving(): boolean {
    return this.#handover.signal.aborted
  }

  /** Drives one run, if one is due; whether to look for another. */
  async #driveOne(sessionId: string): Promise<boolean> {
    const { manager, programs, timers, notices } = this.#settings
    const info = await manager.getInfo(sessionId)
    const lookedAt = timers.now()
    const clock = info && new StoreClock(timers, info.clock)
    const isLeft = info !== null && (await notices.take(info))
    const next = info ? nextOf(info.ticket, info.clock) : undefined
    const definition = next && programs.get(next.program)
    if (!clock || !next || (definition === undefined && !next.mustStop)) {
      if (info && isLeft) this.#left.set(sessionId, lookedAt + Math.min(LEFT_MS, untilLate(info)))
      return false
    }
    if (isHeld(info)) return false
    const { runId, program } = next
    const writer = await manager.createWriter(sessionId, { runId, program, agentType: agentTypeOf(program) })
    try {
      // What was read before the claim may be old by now (law 4).
      const isNext = nextOf(writer.ticket, info.clock)?.runId === runId
      if (this.#isLeaving || !isNext) return !isNext
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
      const isMore = await drive.run().finally(() => this.#drives.delete(drive))
      const { run } = writer.ticket
      if (run === null || run.paused) this.#snapshots.takeAtRest(sessionId, writer.cursor.sequence)
      return isMore
    } finally {
      await writer.close()
    }
  }
}

/** Whether somebody has the log, and is not known to be dead. */
const isHeld = ({ lease, clock }: StreamInfo): boolean => lease !== null && lease.until > clock

/** How long it is until the next deadline of a run. */
function untilLate({ ticket: { pendings }, clock }: StreamInfo): number {
  const times = pendings.flatMap(({ deadline = clock }) => (deadline > clock ? [deadline - clock] : []))
  return Math.min(Number.POSITIVE_INFINITY, ...times)
}

/** One of each after the other, each once. */
function inTurns(lists: readonly (readonly string[])[]): string[] {
  const found = new Set<string>()
  const longest = Math.max(...lists.map(({ length }) => length))
  for (let i = 0; i < longest; i++) {
    for (const { [i]: sessionId } of lists) if (sessionId !== undefined) found.add(sessionId)
  }
  return [...found]
}

/** The run to go on with, or to start. */
function nextOf(ticket: Ticket, clock: number): { runId: string; program: string; mustStop: boolean } | undefined {
  const { run, requests, ready, pendings } = ticket
  if (run === null) return requests[0] && { ...requests[0], mustStop: false }
  const isLate = pendings.some(({ deadline }) => deadline !== undefined && deadline <= clock)
  const waits = run.paused && !ready && !isLate && !mustStop(ticket)
  return waits ? undefined : { ...run, mustStop: mustStop(ticket) }
}

const agentTypeOf = (program: string): string => /^\w+:(.*)@/.exec(program)?.[1] ?? program

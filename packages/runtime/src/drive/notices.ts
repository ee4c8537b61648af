// Tells observers of pauses and ends, at least once: at once by the process that wrote them, without holding anything up; and where that died, or an observer could not
// be told, by whoever finds it still owed on the ticket.

import { AsyncLocalStorage } from 'node:async_hooks'
import type { StreamInfo, StreamManager, Timers } from '@millrace/log'
import { type BatchLike, lateProgram, noticeProgram, type TicketNotice } from '@millrace/log/internal'
import type { Chunk, PendingRef, RunStatus } from '@millrace/protocol'
import type { Logger } from '../telemetry/logger.ts'

/** What an observer is told of a run. */
interface ObservedRun {
  /** The same each time that somebody is told of this pause or end. */
  readonly id: string
  readonly sessionId: string
  readonly runId: string
  readonly program: string
  readonly reason?: string
  /** Whose the session is, if it is anybody's. */
  readonly principal?: string
}

/** A run that waits. */
export interface PausedRun extends ObservedRun {
  readonly status: 'paused'
  /** What for; where it is told late, what it waits for by then. */
  readonly awaits: readonly PendingRef[]
}

/** A run that has ended. */
export interface FinishedRun extends ObservedRun {
  readonly status: RunStatus
}

/** Is told of pauses and ends, at least once each; what it throws harms no run. */
export interface Observer {
  onPaused?(run: PausedRun): unknown
  onFinished?(run: FinishedRun): unknown
}

/** How long others wait before they tell what its writer was to tell. */
export const NOTIFY_AFTER_MS = 30_000
/** How long an observer may take. */
export const OBSERVER_TIMEOUT_MS = 10_000
/** The longest time after which it is tried again, and how often it is. */
export const LONGEST_NOTIFY_MS = 3_600_000
export const MAX_NOTIFY_TRIES = 12
/** How many pauses and ends are told at a time, and how many wait for that; what is more is told when it is found owed. */
export const CONCURRENT_NOTICES = 32
export const MOST_WAITING = 10_000
/** How many may wait where more is taken upon oneself: that has its time, and counts as tried. */
const MOST_TAKEN = 1000

export interface NoticeSettings {
  readonly manager: StreamManager
  readonly observers: readonly Observer[]
  /** What there is here: of runs of other programs observers are told elsewhere. */
  readonly programs: Iterable<string>
  readonly timers: Timers
  readonly logger: Logger
}

/** Which run of which session. */
interface NoticeTarget {
  readonly sessionId: string
  readonly runId: string
  readonly program: string
  readonly principal: string | null
}

/** When a run pauses or ends, of which program, and whether this process drives that. */
interface NoticeContext {
  readonly clock: number
  readonly program: string
  readonly isDriven: boolean
}

interface Telling {
  readonly sessionId: string
  readonly runId: string
  /** By which the ticket knows it. */
  readonly notifyBy: number
  /** By this process's own clock: later it would be told while others do. */
  readonly startBy: number
  read(): Promise<PausedRun | FinishedRun>
}

export class Notices {
  readonly #settings: NoticeSettings
  /** The names of the programs here, whatever their versions. */
  readonly #names: ReadonlySet<string>
  readonly #lateNames: readonly string[]
  /** What a close waits for. */
  readonly #awaited = new Set<Promise<void>>()
  /** Within an observer: lets nobody wait for it any more. */
  readonly #within = new AsyncLocalStorage<() => void>()
  #active = 0
  #waiting: Telling[] = []
  #latest = 0

  constructor(settings: NoticeSettings) {
    this.#settings = settings
    const programs = [...settings.programs]
    this.#names = new Set(programs.map(program => noticeProgram(program)))
    const lateNames = new Set(programs.map(program => lateProgram(program)))
    this.#lateNames = programs.length > 0 ? [...lateNames, lateProgram()] : []
  }

  /** Under which names sessions are due here for what is owed in them, or for a deadline behind that. */
  get names(): readonly string[] {
    return this.hasRoom ? [...this.#names, noticeProgram(), ...this.#lateNames] : this.#lateNames
  }

  /** Whether something that is owed can be told here now. */
  get hasRoom(): boolean {
    return this.#settings.observers.length > 0 && this.#names.size > 0 && this.#waiting.length < MOST_TAKEN
  }

  /** Whether observers are told here of a program's runs. */
  #tells(program: string): boolean {
    return this.#settings.observers.length > 0 && this.#names.has(noticeProgram(program))
  }

  /** What pauses or ends a run, with the time from which on others are to tell of it: at once where nobody here has that program. */
  owed(batch: BatchLike, { clock, program, isDriven }: NoticeContext): BatchLike {
    const isOurs = this.#tells(program)
    if (!isOurs && isDriven) return batch
    return batch.map(item => {
      const chunk = 'type' in item ? item : item.chunk
      if (!isTold(chunk)) return item
      const now = Math.ceil(clock)
      // Two of one run are told apart by it.
      if (isOurs) this.#latest = Math.max(this.#latest + 1, now + NOTIFY_AFTER_MS)
      const owing: Chunk = { ...chunk, notifyBy: isOurs ? this.#latest : now }
      return 'type' in item ? owing : { ...item, chunk: owing }
    })
  }

  /** Tells of what a batch said that is in the log now; soon, and nobody waits for it. */
  tell({ principal, ...place }: NoticeTarget, batch: BatchLike): void {
    if (!this.#tells(place.program)) return
    for (const item of batch) {
      const chunk = 'type' in item ? item : item.chunk
      if (!isTold(chunk) || chunk.notifyBy === undefined) continue
      const { reason, notifyBy } = chunk
      const told = { id: idOf(place.runId, notifyBy), ...place, ...pick({ reason, principal }) }
      const run: PausedRun | FinishedRun =
        chunk.type === 'run-paused'
          ? { ...told, status: 'paused', awaits: chunk.awaits }
          : { ...told, status: chunk.status }
      this.#add({ ...place, notifyBy, startBy: this.#startBy(NOTIFY_AFTER_MS), read: async () => run })
    }
  }

  /** Takes upon itself what is due in a session, so that nobody else tells it meanwhile; whether something is left to others. */
  async take({ streamId, ticket, clock, principal }: StreamInfo): Promise<boolean> {
    const due = (ticket.notices ?? []).filter(({ notifyBy }) => notifyBy <= clock)
    const own = due.filter(({ program }) => this.#tells(program))
    for (const notice of own) {
      if (!this.hasRoom) return true
      const { runId, notifyBy, tries = 0 } = notice
      if (tries >= MAX_NOTIFY_TRIES) {
        if (await this.#say(streamId, runId, notifyBy)) this.#giveUp(streamId, notice)
        continue
      }
      const waitMs = Math.min(NOTIFY_AFTER_MS * 2 ** (tries + 1), LONGEST_NOTIFY_MS)
      const startBy = this.#startBy(waitMs)
      if (!(await this.#say(streamId, runId, notifyBy, clock + waitMs))) continue
      const read = () => this.#find(streamId, principal, notice)
      this.#add({ sessionId: streamId, runId, notifyBy: clock + waitMs, startBy, read })
    }
    return own.length < due.length
  }

  /** Waits for what is being told, for as long as an observer may take, and not for an observer that closes; what is not told by then is told by others. */
  async close(): Promise<void> {
    this.#within.getStore()?.()
    const { promise, resolve } = Promise.withResolvers<void>()
    // It keeps the process alive: an observer that hangs does not, and what comes after the close would never be.
    const cancel = this.#settings.timers.after(OBSERVER_TIMEOUT_MS, resolve)
    const all = async () => {
      while (this.#awaited.size > 0) await Promise.all(this.#awaited)
    }
    await Promise.race([all(), promise])
    this.#waiting = []
    cancel()
  }

  #giveUp(sessionId: string, { runId, program, status, tries }: TicketNotice): void {
    const about = { sessionId, runId, program, status, tries }
    this.#settings.logger.error('observers could not be told of a run, and will not be', about)
  }

  #startBy(waitMs: number): number {
    return this.#settings.timers.now() + waitMs - OBSERVER_TIMEOUT_MS
  }

  #add(telling: Telling): void {
    if (this.#waiting.length < MOST_WAITING) this.#waiting.push(telling)
    this.#next()
  }

  #next(): void {
    while (this.#active < CONCURRENT_NOTICES) {
      const telling = this.#waiting.shift()
      if (telling === undefined) return
      if (telling.startBy < this.#settings.timers.now()) continue
      const { promise, resolve } = Promise.withResolvers<void>()
      const leave = () => {
        this.#awaited.delete(promise)
        resolve()
      }
      this.#awaited.add(promise)
      this.#active++
      const done = this.#within.run(leave, () => this.#tell(telling))
      done.then(() => {
        this.#active--
        this.#next()
        leave()
      })
    }
  }

  /** Tells all observers, and says so where all of them heard it. */
  async #tell({ sessionId, runId, notifyBy, read }: Telling): Promise<void> {
    const { observers, logger } = this.#settings
    try {
      const run = await read()
      const heard = await Promise.all(observers.map(observer => this.#hears(observer, structuredClone(run))))
      if (heard.every(Boolean)) await this.#say(sessionId, runId, notifyBy)
    } catch (error) {
      logger.warn('observers could not be told of a run', { sessionId, runId, cause: error })
    }
  }

  /** Whether an observer heard of it in time. */
  async #hears(observer: Observer, run: PausedRun | FinishedRun): Promise<boolean> {
    const { timers, logger } = this.#settings
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const { id, sessionId, runId, status } = run
    const fail = (cause: unknown) => {
      cancel()
      logger.warn('an observer failed', { id, sessionId, runId, status, cause })
      resolve(false)
    }
    const late = () => fail(new Error(`it took longer than ${OBSERVER_TIMEOUT_MS} ms`))
    const cancel = timers.after(OBSERVER_TIMEOUT_MS, late, true)
    const call = async () => {
      await (run.status === 'paused' ? observer.onPaused?.(run) : observer.onFinished?.(run))
      cancel()
      resolve(true)
    }
    call().catch(fail)
    return promise
  }

  /** Says that observers were told, or until when that is seen to here; false where somebody else was faster, or nobody can say now. */
  async #say(sessionId: string, runId: string, notifyBy: number, until?: number): Promise<boolean> {
    const { manager, logger } = this.#settings
    try {
      // By a name that no other process has: who takes the same upon itself at the same time is another.
      const chunk: Chunk = { type: 'run-notified', runId, notifyBy, ...pick({ until }) }
      return (await manager.append(sessionId, manager.owner, chunk)).outcome !== 'refused'
    } catch (error) {
      logger.warn('nobody can say whether observers were told', { sessionId, runId, cause: error })
      return false
    }
  }

  /** What there is to tell of a pause or an end that somebody else wrote. */
  async #find(sessionId: string, principal: string | null, notice: TicketNotice): Promise<PausedRun | FinishedRun> {
    const { runId, program, status, notifyBy, first = notifyBy } = notice
    const { view } = await this.#settings.manager.view(sessionId)
    const run = view.runs.find(other => other.runId === runId)
    const { reason, awaits = [] } = (run?.status === status && run) || {}
    const told = { id: idOf(runId, first), sessionId, runId, program, ...pick({ reason, principal }) }
    return status === 'paused' ? { ...told, status, awaits } : { ...told, status }
  }
}

/** Whether observers are told of it. */
const isTold = (chunk: Chunk): chunk is Extract<Chunk, { type: 'run-paused' | 'run-finished' }> =>
  chunk.type === 'run-paused' || chunk.type === 'run-finished'

const idOf = (runId: string, notifyBy: number): string => `${runId}:${notifyBy}`

/** What of some fields there is. */
const pick = <T extends object>(fields: T): { [K in keyof T]?: NonNullable<T[K]> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null)) as {
    [K in keyof T]?: NonNullable<T[K]>
  }

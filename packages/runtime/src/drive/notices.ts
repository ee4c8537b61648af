// Notifies observers of pauses and ends, at least once. The process that wrote them notifies without delaying the run.
// If it crashed or an observer failed, another process finds the notice on the ticket.

import { AsyncLocalStorage } from 'node:async_hooks'
import type { StreamInfo, StreamManager, Timers } from '@millrace/log'
import { type BatchLike, noticeAndDeadlineProgram, noticeProgram, type TicketNotice } from '@millrace/log/internal'
import type { Chunk, PendingRef, RunStatus } from '@millrace/protocol'
import { backoffMs } from '@millrace/protocol/retry'
import type { Logger } from '../telemetry/logger.ts'

/** The fields of every notification. */
interface ObservedRun {
  /** Id of the notification. It stays the same when the notification is repeated. */
  readonly id: string
  /** Id of the session's log, unique in the store. `sessionIdOf` gives the id that the owner's clients use. */
  readonly sessionId: string
  /** Id of the run. */
  readonly runId: string
  /** Program of the run, such as `agent:name@1`. */
  readonly program: string
  /** Why the run paused or ended, if there is a reason. */
  readonly reason?: string
  /** Owner of the session, if it has one. */
  readonly principal?: string
}

/** A paused run. */
export interface PausedRun extends ObservedRun {
  /** The run waits for answers. */
  readonly status: 'paused'
  /** The pendings that it waits for; in a late notification, the current ones. */
  readonly awaits: readonly PendingRef[]
}

/** An ended run. */
export interface FinishedRun extends ObservedRun {
  /** Status with which the run ended. */
  readonly status: RunStatus
}

/** Notified of pauses and ends of runs, at least once each. Errors do not affect the run. */
export interface Observer {
  /** Called when a run pauses. */
  onPaused?(run: PausedRun): unknown
  /** Called when a run ends. */
  onFinished?(run: FinishedRun): unknown
}

/** How long other processes wait before they deliver a notice of this process, in ms. */
export const NOTIFY_AFTER_MS = 30_000
/** Timeout of an observer, in ms. */
export const OBSERVER_TIMEOUT_MS = 10_000
/** How long a shutdown waits for observers, in ms. */
export const CLOSE_TIMEOUT_MS = 4000
/** Maximum delay between retries, in ms. */
export const MAX_NOTIFY_DELAY_MS = 3_600_000
/** Maximum number of retries. */
export const MAX_NOTIFY_TRIES = 12
/** Maximum number of concurrent deliveries, and of queued ones. Others are found on the ticket later. */
export const CONCURRENT_NOTICES = 32
export const MAX_QUEUED_NOTICES = 10_000
/** Maximum queue length for taking more notices from tickets: a taken notice has a deadline and counts as tried. */
const MAX_QUEUED_BEFORE_TAKING = 1000

export interface NoticeSettings {
  readonly manager: StreamManager
  readonly observers: readonly Observer[]
  /** The programs of this process. Notices of other programs are delivered elsewhere. */
  readonly programs: Iterable<string>
  readonly timers: Timers
  readonly logger: Logger
}

/** A run of a session. */
interface NoticeTarget {
  readonly sessionId: string
  readonly runId: string
  readonly program: string
  readonly principal: string | null
}

/** When a run pauses or ends, its program, and whether this process drives it. */
interface NoticeContext {
  readonly clock: number
  readonly program: string
  readonly isDriven: boolean
}

interface NoticeDelivery {
  readonly sessionId: string
  readonly runId: string
  /** Identifies the notice on the ticket. */
  readonly notifyBy: number
  /** Latest start by the local clock. Later, another process delivers it. */
  readonly startBy: number
  read(): Promise<PausedRun | FinishedRun>
}

export class Notices {
  readonly #settings: NoticeSettings
  /** Names of the programs without versions. */
  readonly #names: ReadonlySet<string>
  readonly #lateNames: readonly string[]
  /** Deliveries that `close` awaits. */
  readonly #awaited = new Set<Promise<void>>()
  /** Inside an observer: the function that stops awaiting its delivery. */
  readonly #stopAwaiting = new AsyncLocalStorage<() => void>()
  #active = 0
  #queue: NoticeDelivery[] = []
  #lastNotifyBy = 0

  constructor(settings: NoticeSettings) {
    this.#settings = settings
    const programs = [...settings.programs]
    this.#names = new Set(programs.map(program => noticeProgram(program)))
    const lateNames = new Set(programs.map(program => noticeAndDeadlineProgram(program)))
    this.#lateNames = programs.length > 0 ? [...lateNames, noticeAndDeadlineProgram()] : []
  }

  /** Names under which sessions with due notices, or with deadlines behind them, are found. */
  get names(): readonly string[] {
    return this.hasRoom ? [...this.#names, noticeProgram(), ...this.#lateNames] : this.#lateNames
  }

  /** Whether a due notice can be delivered now. */
  get hasRoom(): boolean {
    return this.#settings.observers.length > 0 && this.#names.size > 0 && this.#queue.length < MAX_QUEUED_BEFORE_TAKING
  }

  /** Whether observers of this process are notified of a program's runs. */
  #observes(program: string): boolean {
    return this.#settings.observers.length > 0 && this.#names.has(noticeProgram(program))
  }

  /**
   * Adds the time from which other processes deliver the notice to a batch that pauses or ends a run: at once if this
   * process does not have the program.
   */
  withNotifyBy(batch: BatchLike, { clock, program, isDriven }: NoticeContext): BatchLike {
    const isOurs = this.#observes(program)
    if (!isOurs && isDriven) return batch
    return batch.map(item => {
      const chunk = 'type' in item ? item : item.chunk
      if (!isObservable(chunk)) return item
      const now = Math.ceil(clock)
      // Distinguishes two notices of one run.
      if (isOurs) this.#lastNotifyBy = Math.max(this.#lastNotifyBy + 1, now + NOTIFY_AFTER_MS)
      const withDeadline: Chunk = { ...chunk, notifyBy: isOurs ? this.#lastNotifyBy : now }
      return 'type' in item ? withDeadline : { ...item, chunk: withDeadline }
    })
  }

  /** Delivers the notices of a committed batch, without waiting. */
  deliver({ principal, ...target }: NoticeTarget, batch: BatchLike): void {
    if (!this.#observes(target.program)) return
    for (const item of batch) {
      const chunk = 'type' in item ? item : item.chunk
      if (!isObservable(chunk) || chunk.notifyBy === undefined) continue
      const { reason, notifyBy } = chunk
      const fields = { id: idOf(target.runId, notifyBy), ...target, ...definedFields({ reason, principal }) }
      const run: PausedRun | FinishedRun =
        chunk.type === 'run-paused'
          ? { ...fields, status: 'paused', awaits: chunk.awaits }
          : { ...fields, status: chunk.status }
      this.#enqueue({ ...target, notifyBy, startBy: this.#startBy(NOTIFY_AFTER_MS), read: async () => run })
    }
  }

  /**
   * Takes the due notices of a session, so that no other process delivers them meanwhile. Returns whether some are left
   * to others.
   */
  async takeDue({ streamId, ticket, clock, principal }: StreamInfo): Promise<boolean> {
    const due = (ticket.notices ?? []).filter(({ notifyBy }) => notifyBy <= clock)
    const observedNotices = due.filter(({ program }) => this.#observes(program))
    for (const notice of observedNotices) {
      if (!this.hasRoom) return true
      const { runId, notifyBy, tries = 0 } = notice
      if (tries >= MAX_NOTIFY_TRIES) {
        if (await this.#acknowledge(streamId, runId, notifyBy)) this.#giveUp(streamId, notice)
        continue
      }
      const waitMs = backoffMs({ firstMs: NOTIFY_AFTER_MS, longestMs: MAX_NOTIFY_DELAY_MS }, tries + 1)
      const startBy = this.#startBy(waitMs)
      if (!(await this.#acknowledge(streamId, runId, notifyBy, clock + waitMs))) continue
      const read = () => this.#readRun(streamId, principal, notice)
      this.#enqueue({ sessionId: streamId, runId, notifyBy: clock + waitMs, startBy, read })
    }
    return observedNotices.length < due.length
  }

  /**
   * Waits for active deliveries, at most `CLOSE_TIMEOUT_MS`, and not for an observer that calls close. Other processes
   * deliver the rest.
   */
  async close(): Promise<void> {
    this.#stopAwaiting.getStore()?.()
    const { promise, resolve } = Promise.withResolvers<void>()
    // The timer keeps the process alive: a hanging observer does not, and the code after close would never run.
    const cancel = this.#settings.timers.after(CLOSE_TIMEOUT_MS, resolve)
    const allDelivered = async () => {
      while (this.#awaited.size > 0) await Promise.all(this.#awaited)
    }
    await Promise.race([allDelivered(), promise])
    this.#queue = []
    cancel()
  }

  #giveUp(sessionId: string, { runId, program, status, tries }: TicketNotice): void {
    const fields = { sessionId, runId, program, status, tries }
    this.#settings.logger.error('failed to notify observers of a run: giving up', fields)
  }

  #startBy(waitMs: number): number {
    return this.#settings.timers.now() + waitMs - OBSERVER_TIMEOUT_MS
  }

  #enqueue(delivery: NoticeDelivery): void {
    if (this.#queue.length < MAX_QUEUED_NOTICES) this.#queue.push(delivery)
    this.#startNext()
  }

  #startNext(): void {
    while (this.#active < CONCURRENT_NOTICES) {
      const delivery = this.#queue.shift()
      if (delivery === undefined) return
      if (delivery.startBy < this.#settings.timers.now()) continue
      const { promise, resolve } = Promise.withResolvers<void>()
      const settle = () => {
        this.#awaited.delete(promise)
        resolve()
      }
      this.#awaited.add(promise)
      this.#active++
      const done = this.#stopAwaiting.run(settle, () => this.#deliver(delivery))
      done.then(() => {
        this.#active--
        this.#startNext()
        settle()
      })
    }
  }

  /** Calls all observers, and acknowledges the notice if all succeed. */
  async #deliver({ sessionId, runId, notifyBy, read }: NoticeDelivery): Promise<void> {
    const { observers, logger } = this.#settings
    try {
      const run = await read()
      const results = await Promise.all(observers.map(observer => this.#callObserver(observer, structuredClone(run))))
      if (results.every(Boolean)) await this.#acknowledge(sessionId, runId, notifyBy)
    } catch (error) {
      logger.warn('failed to notify observers of a run', { sessionId, runId, cause: error })
    }
  }

  /** Calls an observer. Returns whether it succeeded in time. */
  async #callObserver(observer: Observer, run: PausedRun | FinishedRun): Promise<boolean> {
    const { timers, logger } = this.#settings
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const { id, sessionId, runId, status } = run
    const fail = (cause: unknown) => {
      cancel()
      logger.warn('an observer failed', { id, sessionId, runId, status, cause })
      resolve(false)
    }
    const onTimeout = () => fail(new Error(`it took longer than ${OBSERVER_TIMEOUT_MS} ms`))
    const cancel = timers.after(OBSERVER_TIMEOUT_MS, onTimeout, true)
    const call = async () => {
      await (run.status === 'paused' ? observer.onPaused?.(run) : observer.onFinished?.(run))
      cancel()
      resolve(true)
    }
    call().catch(fail)
    return promise
  }

  /**
   * Acknowledges a notice, or extends it until `until`. Returns false if another process was faster or the store is
   * unavailable.
   */
  async #acknowledge(sessionId: string, runId: string, notifyBy: number, until?: number): Promise<boolean> {
    const { manager, logger } = this.#settings
    try {
      // By the unique owner id of this process, because another process may take the same notice at the same time.
      const chunk: Chunk = { type: 'run-notified', runId, notifyBy, ...definedFields({ until }) }
      return (await manager.append(sessionId, manager.owner, chunk)).outcome !== 'refused'
    } catch (error) {
      logger.warn('failed to acknowledge a notice: observers may get it again', { sessionId, runId, cause: error })
      return false
    }
  }

  /** Reads the data for the notice of another process. */
  async #readRun(sessionId: string, principal: string | null, notice: TicketNotice): Promise<PausedRun | FinishedRun> {
    const { runId, program, status, notifyBy, first = notifyBy } = notice
    const { view } = await this.#settings.manager.view(sessionId)
    const run = view.runs.find(other => other.runId === runId)
    const { reason, awaits = [] } = (run?.status === status && run) || {}
    const fields = { id: idOf(runId, first), sessionId, runId, program, ...definedFields({ reason, principal }) }
    return status === 'paused' ? { ...fields, status, awaits } : { ...fields, status }
  }
}

/** Whether observers are notified of a chunk. */
const isObservable = (chunk: Chunk): chunk is Extract<Chunk, { type: 'run-paused' | 'run-finished' }> =>
  chunk.type === 'run-paused' || chunk.type === 'run-finished'

const idOf = (runId: string, notifyBy: number): string => `${runId}:${notifyBy}`

/** Removes undefined and null fields. */
const definedFields = <T extends object>(fields: T): { [K in keyof T]?: NonNullable<T[K]> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null)) as {
    [K in keyof T]?: NonNullable<T[K]>
  }

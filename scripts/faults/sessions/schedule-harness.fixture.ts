import { setTimeout as pause } from 'node:timers/promises'
import type { FaultProxy } from '../proxy.ts'
import type { Random } from '../random.ts'
import type { SessionServer } from './session-server.fixture.ts'

/** Default timeout of a schedule, in ms. Generous: many schedules share a machine that may be busy. */
const SCHEDULE_TIMEOUT_MS = 120_000

/** Maximum number of observations before an event of a schedule. */
export const MAX_OBSERVATIONS_BEFORE_EVENT = 60
/** Maximum delay of an event after the observation that it waits for, in ms. */
const MAX_EVENT_DELAY_MS = 15
/** Maximum length of a stall, a refusal or an absence, in ms. */
export const MAX_OUTAGE_MS = 60

/** Timeout and cancellation of a schedule. */
export interface ScheduleLimits {
  /** Timeout in ms. @default 120_000 */
  readonly timeoutMs?: number
  /** Aborted when the result is no longer needed. */
  readonly signal?: AbortSignal
}

/** Faults of the connections through a proxy. */
export type ConnectionFault = 'cut' | 'reset' | 'half-close' | 'stall' | 'refuse'

/** One schedule while it plays. A subclass holds the clients, and counts what they observe. */
export abstract class ScheduleHarness<Server extends SessionServer = SessionServer> {
  readonly server: Server
  readonly random: Random
  readonly sessionIds: readonly string[]
  /** The events of the schedule, for the report of a failure. */
  readonly notes: string[] = []
  /** How many faults were injected. */
  faults = 0
  readonly #conditions = new Set<{ readonly holds: () => boolean; readonly resolve: () => void }>()
  readonly #end = new AbortController()
  readonly #timeout: NodeJS.Timeout

  constructor(
    server: Server,
    random: Random,
    sessionIds: readonly string[],
    { timeoutMs = SCHEDULE_TIMEOUT_MS, signal }: ScheduleLimits = {},
  ) {
    this.server = server
    this.random = random
    this.sessionIds = sessionIds
    this.#timeout = setTimeout(() => this.#end.abort(), timeoutMs)
    signal?.addEventListener('abort', () => this.#end.abort(), { signal: this.#end.signal })
    if (signal?.aborted) this.#end.abort()
  }

  /** Number of observations of the first client. Events of a schedule are timed by it. */
  abstract readonly observed: number

  /** Aborted when the schedule has ended, has failed, or takes too long. */
  get signal(): AbortSignal {
    return this.#end.signal
  }

  /** Resolves when the condition holds. Conditions are checked again by `recheck`. */
  async until(event: string, holds: () => boolean): Promise<void> {
    if (holds()) return
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const condition = { holds, resolve }
    const { signal } = this
    const fail = () => reject(new Error(`timed out waiting until ${event}`))
    this.#conditions.add(condition)
    signal.addEventListener('abort', fail, { once: true })
    if (signal.aborted) fail()
    await promise.finally(() => {
      signal.removeEventListener('abort', fail)
      this.#conditions.delete(condition)
    })
  }

  /** Checks all conditions again. */
  recheck(): void {
    for (const condition of [...this.#conditions]) if (condition.holds()) condition.resolve()
  }

  /** Waits until the first client has made `after` observations or the scripts have ended, and then a random time. */
  async waitForObservations(after: number, isOver: () => boolean): Promise<void> {
    await this.until(`the first client has made ${after} observations`, () => this.observed >= after || isOver())
    await this.pause(MAX_EVENT_DELAY_MS)
  }

  /** Waits for a random time of at most `maxMs`. */
  async pause(maxMs: number): Promise<void> {
    await pause(this.random.below(maxMs * 10) / 10, undefined, { signal: this.signal }).catch(() => {})
  }

  /** Plays all scripts and, meanwhile, the events. Resolves when both have ended. */
  async play(
    scripts: readonly { play(): Promise<void> }[],
    events: (isOver: () => boolean) => readonly Promise<unknown>[],
  ): Promise<void> {
    let isOver = false
    const played = Promise.all(scripts.map(script => script.play())).finally(() => {
      isOver = true
      this.recheck()
    })
    await Promise.all([played, ...events(() => isOver)])
  }

  async breakConnections(gate: FaultProxy, fault: ConnectionFault): Promise<void> {
    const { random } = this
    switch (fault) {
      case 'cut':
      case 'reset':
        gate[fault]()
        break
      case 'half-close':
        gate.halfClose(random.pick(['up', 'down']))
        break
      case 'stall':
        gate.stall(random.pick(['up', 'down', undefined]))
        await this.pause(MAX_OUTAGE_MS)
        gate.resume()
        break
      case 'refuse':
        gate.refuse(true)
        gate.cut()
        await this.pause(MAX_OUTAGE_MS)
        gate.refuse(false)
        break
    }
  }

  /** Ends the schedule: every wait rejects. */
  protected end(): void {
    clearTimeout(this.#timeout)
    this.#end.abort()
  }
}

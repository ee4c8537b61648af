import { setTimeout as pause } from 'node:timers/promises'
import type { FaultProxy } from '../proxy.ts'
import type { Random } from '../random.ts'
import type { SessionServer } from './session-server.fixture.ts'

/** After this time a schedule has failed. Generous: many schedules share a machine that may be busy. */
const GIVE_UP_MS = 120_000

/** An event of a schedule happens after at most this many observations. */
export const EVENT_AFTER = 60
/** Each event happens at most this much later than the observation that it waits for. */
const EVENT_DELAY_MS = 15
/** A stall, a refusal or an absence lasts at most this long. */
export const OUTAGE_MS = 60

/** Timeout and cancellation of a schedule. */
export interface Patience {
  readonly giveUpMs?: number
  /** Aborted when the result is no longer needed. */
  readonly signal?: AbortSignal
}

/** Faults of the connections through a proxy. */
export type ConnectionFault = 'cut' | 'reset' | 'half-close' | 'stall' | 'refuse'

/** One schedule while it plays. A subclass holds the clients, and counts what they observe. */
export abstract class ScheduleScene<Server extends SessionServer = SessionServer> {
  readonly server: Server
  readonly random: Random
  readonly sessionIds: readonly string[]
  /** What happened, for the report of a failure. */
  readonly notes: string[] = []
  /** How many faults were injected. */
  faults = 0
  readonly #conditions = new Set<{ readonly holds: () => boolean; readonly resolve: () => void }>()
  readonly #end = new AbortController()
  readonly #giveUp: NodeJS.Timeout

  constructor(
    server: Server,
    random: Random,
    sessionIds: readonly string[],
    { giveUpMs = GIVE_UP_MS, signal }: Patience = {},
  ) {
    this.server = server
    this.random = random
    this.sessionIds = sessionIds
    this.#giveUp = setTimeout(() => this.#end.abort(), giveUpMs)
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
    const giveUp = () => reject(new Error(`gave up waiting until ${event}`))
    this.#conditions.add(condition)
    signal.addEventListener('abort', giveUp, { once: true })
    if (signal.aborted) giveUp()
    await promise.finally(() => {
      signal.removeEventListener('abort', giveUp)
      this.#conditions.delete(condition)
    })
  }

  /** Checks all conditions again. */
  recheck(): void {
    for (const condition of [...this.#conditions]) if (condition.holds()) condition.resolve()
  }

  /** Waits for a random moment after `after` observations, or for the end of the scripts. */
  async moment(after: number, isOver: () => boolean): Promise<void> {
    await this.until('its moment comes', () => this.observed >= after || isOver())
    await this.pause(EVENT_DELAY_MS)
  }

  /** Waits for a random time. */
  async pause(mostMs: number): Promise<void> {
    await pause(this.random.below(mostMs * 10) / 10, undefined, { signal: this.signal }).catch(() => {})
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
        await this.pause(OUTAGE_MS)
        gate.resume()
        break
      case 'refuse':
        gate.refuse(true)
        gate.cut()
        await this.pause(OUTAGE_MS)
        gate.refuse(false)
        break
    }
  }

  /** Ends the schedule: every wait rejects. */
  protected end(): void {
    clearTimeout(this.#giveUp)
    this.#end.abort()
  }
}

import { createHash } from 'node:crypto'
import type { LogStore } from '../../store/log-store.ts'
import type { LogRecord } from './log-record.fixture.ts'
import type { Process, Scheduler } from './scheduler.fixture.ts'

/** Where the logs of a schedule are: handles as of several processes, and the store's clock where it can be brought along. */
export interface Place {
  readonly handles: readonly LogStore[]
  readonly clock?: { time: number }
}

interface Watcher {
  readonly process: Process
  readonly streamId: string
  readonly wake: () => void
}

/** What everybody in a schedule has in common, and what is known of the logs beside what the store says. */
export class World {
  readonly scheduler: Scheduler
  readonly place: Place
  readonly prefix: string
  /** The logs that are there. */
  readonly logs = new Map<string, LogRecord>()
  /** Those that were removed. */
  readonly removed: LogRecord[] = []
  readonly violations: string[] = []
  /** The logs whose run somebody paused by hand: nobody but a hand resumes those. */
  readonly paused = new Set<string>()
  /** The highest time that the store was seen to show. */
  clock = 0
  operations = 0
  #watchers: Watcher[] = []
  #names = 0

  constructor(scheduler: Scheduler, place: Place, prefix: string) {
    this.scheduler = scheduler
    this.place = place
    this.prefix = prefix
  }

  /** Takes down that a law was broken. */
  violate(law: string, what: string): void {
    const line = `${law}: ${what}`
    this.scheduler.note(`VIOLATION ${line}`)
    this.violations.push(line)
  }

  check(holds: boolean, law: string, what: () => string): void {
    if (!holds) this.violate(law, what())
  }

  /** A name that nothing else in this schedule has. */
  name(kind: string): string {
    return `${kind}${++this.#names}`
  }

  /** Counts what an actor does. */
  operation(process: Process, what: string): void {
    this.operations++
    this.scheduler.count(what.split(' ')[0] as string)
    this.scheduler.note(`${process.name}: ${what}`)
  }

  /** Every log of a name, those removed first. */
  logsOf(streamId: string): LogRecord[] {
    const now = this.logs.get(streamId)
    return [...this.removed.filter(log => log.streamId === streamId), ...(now ? [now] : [])]
  }

  watch(process: Process, streamId: string, wake: () => void): () => void {
    const watcher = { process, streamId, wake }
    this.#watchers.push(watcher)
    return () => {
      this.#watchers = this.#watchers.filter(other => other !== watcher)
    }
  }

  /** Wakes who watches a log: soon, late or twice, never not. */
  wake(streamId: string): void {
    const { scheduler } = this
    this.#watchers = this.#watchers.filter(({ process }) => process.isAlive)
    for (const { process, streamId: watched, wake } of this.#watchers) {
      if (watched !== streamId) continue
      const late = scheduler.random.chance(0.1) ? 1_000 : 20
      scheduler.after(process, scheduler.random.below(late), wake)
      if (scheduler.random.chance(0.05)) scheduler.after(process, scheduler.random.below(500), wake)
    }
  }
}

/** Whether two values are the same as JSON. */
export const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

/** A value for a message: short, and told apart by a hash where it is not. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value)
  if (text.length <= 400) return text
  return `${text.slice(0, 360)}… (${text.length} characters, ${createHash('sha256').update(text).digest('hex').slice(0, 8)})`
}

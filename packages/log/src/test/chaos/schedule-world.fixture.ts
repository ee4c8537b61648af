import { createHash } from 'node:crypto'
import type { LogStore, Wake } from '../../store/log-store.ts'
import type { LogRecord } from './log-record.fixture.ts'
import type { Process, Scheduler } from './scheduler.fixture.ts'

/** The store of a schedule: opens handles like several processes, and moves the clock if possible. */
export interface ScheduleStore {
  readonly handles: readonly LogStore[]
  /** `steady` does not jump. A store with it judges by what each handle has seen whether a lease has expired. */
  readonly clock?: { time: number; steady?: number }
}

interface Watcher {
  readonly process: Process
  readonly streamId: string
  readonly wake: Wake
}

/** State that all actors of a schedule share, and the records of the logs. */
export class World {
  readonly scheduler: Scheduler
  readonly scheduleStore: ScheduleStore
  readonly prefix: string
  /** The existing logs. */
  readonly logs = new Map<string, LogRecord>()
  /** The removed logs. */
  readonly removed: LogRecord[] = []
  readonly violations: string[] = []
  /** Logs with a run that was paused by hand. Only a manual resume continues it. */
  readonly paused = new Set<string>()
  /** The latest time that the store returned. */
  clock = 0
  operations = 0
  #watchers: Watcher[] = []
  #names = 0

  constructor(scheduler: Scheduler, scheduleStore: ScheduleStore, prefix: string) {
    this.scheduler = scheduler
    this.scheduleStore = scheduleStore
    this.prefix = prefix
  }

  /** Records a violated law. */
  violate(law: string, violation: string): void {
    const line = `${law}: ${violation}`
    this.scheduler.note(`VIOLATION ${line}`)
    this.violations.push(line)
  }

  check(isTrue: boolean, law: string, describe: () => string): void {
    if (!isTrue) this.violate(law, describe())
  }

  /** A name that is unique in this schedule. */
  name(kind: string): string {
    return `${kind}${++this.#names}`
  }

  /** Counts an operation of an actor. */
  operation(process: Process, operation: string): void {
    this.operations++
    this.scheduler.count(operation.split(' ')[0] as string)
    this.scheduler.note(`${process.name}: ${operation}`)
  }

  /** All logs of an id, removed ones first. */
  logsOf(streamId: string): LogRecord[] {
    const now = this.logs.get(streamId)
    return [...this.removed.filter(log => log.streamId === streamId), ...(now ? [now] : [])]
  }

  watch(process: Process, streamId: string, wake: Wake): () => void {
    const watcher = { process, streamId, wake }
    this.#watchers.push(watcher)
    return () => {
      this.#watchers = this.#watchers.filter(other => other !== watcher)
    }
  }

  /** Wakes the watchers of a log: soon, late or twice, but always. `head` is the last sequence of an append. */
  wake(streamId: string, head?: number): void {
    const { scheduler } = this
    this.#watchers = this.#watchers.filter(({ process }) => process.isAlive)
    for (const { process, streamId: watched, wake } of this.#watchers) {
      if (watched !== streamId) continue
      const late = scheduler.random.chance(0.1) ? 1_000 : 20
      scheduler.after(process, scheduler.random.below(late), () => wake(head))
      if (scheduler.random.chance(0.05)) scheduler.after(process, scheduler.random.below(500), () => wake(head))
    }
  }
}

/** Whether two values have the same JSON. */
export const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

/** A value for a message: short, with a hash if it is cut. */
export function excerptOf(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value)
  if (text.length <= 400) return text
  return `${text.slice(0, 360)}… (${text.length} characters, ${createHash('sha256').update(text).digest('hex').slice(0, 8)})`
}

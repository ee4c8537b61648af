// Mutants: drivers and stores with one planted bug each. The schedules must detect every one.

import type { BatchItem, Lane, LogStore, Writer } from '@millrace/log'
import type { BatchLike } from '@millrace/log/internal'
import type { Chunk } from '@millrace/protocol'
import type { AgentPosition } from '../../execute/agent-position.ts'
import type { ScheduleOptions } from './simulated-schedule.fixture.ts'

export interface Mutant {
  readonly name: string
  /** The violation by which the checks must detect it. */
  readonly violation: RegExp
  /** Index of the plan that finds it, which is played first. If it no longer finds it, the others follow. */
  readonly plan?: number
  readonly inject?: ScheduleOptions['mutant']
  /** Breaks a new writer. */
  readonly writer?: (writer: Writer) => void
  readonly position?: (position: AgentPosition) => AgentPosition
}

/** All plans, the one that is known to find a mutant first. */
export function* knownFirst<Plan>(plans: readonly Plan[], knownIndex: number | undefined): Generator<Plan> {
  if (knownIndex !== undefined && knownIndex < plans.length) yield plans[knownIndex] as Plan
  yield* plans
}

/** The chunk of a batch item. */
export const batchItemChunk = (item: Chunk | BatchItem): Chunk => ('chunk' in item ? (item.chunk as Chunk) : item)

const typesOf = (batch: BatchLike): string[] => batch.map(item => batchItemChunk(item).type)

/** Breaks every lane of a writer. */
export function breakLanes(writer: Writer, change: (lane: Lane) => void): void {
  const createLane = writer.lane.bind(writer)
  writer.lane = (...call) => {
    const lane = createLane(...call)
    change(lane)
    return lane
  }
}

/** A store that gets modified entries. */
export const rewriting =
  (rewrite: (chunks: { chunk: Chunk }[]) => unknown[]) =>
  (store: LogStore): LogStore =>
    new Proxy(store, {
      get(target, name) {
        if (name !== 'append') return Reflect.get(target, name, target)
        return (id: string, { body }: { body: string }, ...rest: never[]) => {
          const entries = rewrite(JSON.parse(body))
          return (target.append as (...args: unknown[]) => unknown)(
            id,
            { body: JSON.stringify(entries), count: entries.length },
            ...rest,
          )
        }
      },
    })

export const MUTANTS: readonly Mutant[] = [
  {
    name: 'a driver that starts calls after its lease may have expired',
    plan: 22,
    violation: /has the log|was known to be in the log/,
    writer: writer => {
      writer.whenLeaseValid = async () => {}
    },
  },
  {
    name: 'a driver that does not discard a failed attempt',
    violation: /view|dropped|part/,
    writer: writer =>
      breakLanes(writer, lane => {
        lane.discard = async () => false
      }),
  },
  {
    name: 'a takeover that does not discard the draft of a dead driver',
    plan: 3,
    violation: /view|dropped|part/,
    inject: {
      store: rewriting(entries =>
        entries.map(entry =>
          entry.chunk.type === 'step-discarded' && entry.chunk.reason === 'superseded'
            ? { ...entry, chunk: { type: 'status', message: 'taken over' } }
            : entry,
        ),
      ),
    },
  },
  {
    name: 'a takeover that discards the draft of a stopped run',
    plan: 4,
    violation: /a stop was requested|was stopped/,
    inject: {
      store: rewriting(entries => {
        const types = entries.map(({ chunk }) => chunk.type)
        if (types[0] !== 'executor-superseded' || !types.includes('run-finished')) return entries
        const discard = { chunk: { type: 'step-discarded', reason: 'superseded' } }
        return [entries[0], discard, ...entries.slice(1)]
      }),
    },
  },
  {
    name: 'a position that skips an open call',
    violation: /view/,
    position: position => ({ ...position, open: position.open.slice(1) }),
  },
  {
    name: 'a position that repeats calls with an outcome',
    violation: /starts tool .* (the log had the outcome|it had committed the outcome)/,
    position: position => (position.open.length > 0 ? { ...position, open: position.calls } : position),
  },
  {
    name: 'a call that has another key when another process repeats it',
    plan: 1,
    violation: /but is not called without crashes/,
    inject: {
      writeLine: (writeLine, process) => line =>
        writeLine('key' in line && process !== 'p1' ? { ...line, key: `${line.key}.${process}` } : line),
    },
  },
  {
    name: 'a call that is repeated with another input',
    plan: 1,
    violation: /is called with another input/,
    inject: {
      writeLine: (writeLine, process) => line =>
        writeLine('key' in line && process !== 'p1' ? { ...line, input: `${line.input} ` } : line),
    },
  },
  {
    name: 'an outcome and its state in separate commits',
    plan: 18,
    violation: /view\.state/,
    writer: writer =>
      breakLanes(writer, lane => {
        const commit = lane.commit.bind(lane)
        lane.commit = async (batch, options) => {
          const at = typesOf(batch).indexOf('state-patch')
          if (at < 0) return commit(batch, options)
          const done = await commit(batch.toSpliced(at, 1), options)
          await commit([batch[at] as Chunk], options)
          return done
        }
      }),
  },
  {
    name: 'the last answer and the end of its run in separate batches',
    plan: 22,
    violation: /starts model|but is not called without crashes|view/,
    writer: writer => {
      const decide = writer.decide.bind(writer)
      writer.decide = async build => {
        let isFirst = true
        const partOf = (part: 'answer' | 'end') => (ticket: Parameters<typeof build>[0]) => {
          const batch = build(ticket)
          const at = batch ? typesOf(batch).indexOf('finish') : -1
          if (!batch || at < 1) return isFirst ? undefined : batch
          return part === 'answer' ? batch.slice(0, at) : batch.slice(at)
        }
        await decide(partOf('answer'))
        isFirst = false
        return decide(partOf('end'))
      }
    },
  },
]

// Drivers and stores with one planted bug each: the schedules must find every one of them.

import type { BatchItem, Lane, LogStore, Writer } from '@millrace/log'
import type { BatchLike } from '@millrace/log/internal'
import type { Chunk } from '@millrace/protocol'
import type { AgentPosition } from '../../execute/agent-position.ts'
import type { ScheduleOptions } from './simulated-schedule.fixture.ts'

export interface Mutant {
  readonly name: string
  /** The check that must detect it. */
  readonly found: RegExp
  /** Index of the plan that finds it, which is played first. The others follow if it does not any more. */
  readonly plan?: number
  readonly world?: ScheduleOptions['mutant']
  /** Breaks a new writer. */
  readonly writer?: (writer: Writer) => void
  readonly position?: (position: AgentPosition) => AgentPosition
}

/** All plans, the one that is known to find a mutant first. */
export function* knownFirst<Plan>(plans: readonly Plan[], known: number | undefined): Generator<Plan> {
  if (known !== undefined && known < plans.length) yield plans[known] as Plan
  yield* plans
}

/** The chunk of a batch item. */
export const batchItemChunk = (item: Chunk | BatchItem): Chunk => ('chunk' in item ? (item.chunk as Chunk) : item)

const typesOf = (batch: BatchLike): string[] => batch.map(item => batchItemChunk(item).type)

/** Breaks every lane of a writer. */
export function lanes(writer: Writer, change: (lane: Lane) => void): void {
  const make = writer.lane.bind(writer)
  writer.lane = (...call) => {
    const lane = make(...call)
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
    name: 'a driver that starts calls though its lease may have run out',
    plan: 22,
    found: /has the log|was known to be in the log/,
    writer: writer => {
      writer.sure = async () => {}
    },
  },
  {
    name: 'a driver that does not take a failed attempt back',
    found: /view|dropped|part/,
    writer: writer =>
      lanes(writer, lane => {
        lane.discard = async () => false
      }),
  },
  {
    name: 'a takeover that does not take back what the dead had said',
    plan: 3,
    found: /view|dropped|part/,
    world: {
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
    name: 'a takeover that takes back what was shown when its run was stopped',
    plan: 4,
    found: /asked to stop|was stopped/,
    world: {
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
    found: /view/,
    position: position => ({ ...position, open: position.open.slice(1) }),
  },
  {
    name: 'a position that runs all calls of a step again, those with an outcome too',
    found: /starts tool .* (the log had the outcome|it had committed the outcome)/,
    position: position => (position.open.length > 0 ? { ...position, open: position.calls } : position),
  },
  {
    name: 'a call that carries another key when another process makes it again',
    plan: 1,
    found: /which nobody calls without a death/,
    world: {
      note: (note, process) => line =>
        note('key' in line && process !== 'p1' ? { ...line, key: `${line.key}.${process}` } : line),
    },
  },
  {
    name: 'a call that is made again with another input',
    plan: 1,
    found: /is called with another input/,
    world: {
      note: (note, process) => line =>
        note('key' in line && process !== 'p1' ? { ...line, input: `${line.input} ` } : line),
    },
  },
  {
    name: 'an outcome and its state in two commits',
    plan: 18,
    found: /view\.state/,
    writer: writer =>
      lanes(writer, lane => {
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
    name: 'a last answer and the end of its run in two batches',
    plan: 22,
    found: /starts model|which nobody calls without a death|view/,
    writer: writer => {
      const decide = writer.decide.bind(writer)
      writer.decide = async build => {
        let isFirst = true
        const half = (from: 'answer' | 'end') => (ticket: Parameters<typeof build>[0]) => {
          const batch = build(ticket)
          const at = batch ? typesOf(batch).indexOf('finish') : -1
          if (!batch || at < 1) return isFirst ? undefined : batch
          return from === 'answer' ? batch.slice(0, at) : batch.slice(at)
        }
        await decide(half('answer'))
        isFirst = false
        return decide(half('end'))
      }
    },
  },
]

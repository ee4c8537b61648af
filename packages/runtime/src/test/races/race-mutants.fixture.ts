// Mutants that ignore the ticket in one place each. The races must detect every one.

import type { BatchItem, LogStore, Writer } from '@millrace/log'
import type { BatchLike } from '@millrace/log/internal'
import type { Chunk, ToolPart } from '@millrace/protocol'
import type { CallNeed } from '../../execute/tool/call-need.ts'

export interface Mutant {
  readonly name: string
  /** The violation by which the checks must detect it. */
  readonly violation: RegExp
  /** Index of the plan that finds it, which is played first. If it no longer finds it, the others follow. */
  readonly plan?: number
  /** Breaks a new writer. */
  readonly writer?: (writer: Writer) => void
  readonly store?: (store: LogStore) => LogStore
  readonly canPause?: () => boolean
  readonly need?: (need: CallNeed, call: ToolPart) => CallNeed
}

const batchItemChunk = (item: Chunk | BatchItem): Chunk => ('chunk' in item ? (item.chunk as Chunk) : item)

/** A writer that appends a decided batch with any ticket. */
const ignoringTicket =
  (isMeant: (chunk: Chunk) => boolean) =>
  (writer: Writer): void => {
    const decide = writer.decide.bind(writer)
    writer.decide = build => {
      let lastBatch: BatchLike | undefined
      return decide(ticket => {
        lastBatch ??= build(ticket)
        return lastBatch?.some(chunk => isMeant(batchItemChunk(chunk))) ? lastBatch : build(ticket)
      })
    }
  }

/** A store whose guests append with the current ticket, not with the one that they read. */
function withCurrentTicket(store: LogStore): LogStore {
  const append: LogStore['append'] = async (id, batch, by, move) => {
    const page = 'key' in by && move ? await store.read(id, { sequence: 0 }, { batches: 0, bytes: 0 }) : undefined
    return store.append(id, batch, by, page && move ? { ...move, ifVersion: page.version } : move)
  }
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = name === 'append' ? append : Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

export const MUTANTS: readonly Mutant[] = [
  {
    name: 'a pause that ignores answers since it was decided',
    violation: /was answered and can continue|nothing is pending|it lists .*, but the pendings are/,
    writer: ignoringTicket(({ type }) => type === 'run-paused'),
  },
  {
    name: 'a pause that is decided without the pendings',
    violation: /was answered and can continue|nothing is pending|it hangs/,
    canPause: () => true,
  },
  {
    name: 'a deadline that is settled without the current ticket',
    plan: 100,
    violation: /is settled again|the fold dropped it/,
    writer: ignoringTicket(
      chunk =>
        (chunk.type === 'tool-approval-response' && chunk.isAutomatic === true) ||
        (chunk.type === 'tool-output-error' && chunk.code === 'client_tool_timeout'),
    ),
  },
  {
    name: 'an end that ignores a stop since it was decided',
    plan: 10,
    violation: /it ends as completed, expected (interrupted|aborted)/,
    writer: ignoringTicket(({ type }) => type === 'run-finished'),
  },
  {
    name: 'an outcome that is not committed again after a ticket change',
    plan: 9,
    violation: /ran \d times/,
    writer: writer => {
      const createLane = writer.lane.bind(writer)
      writer.lane = origin => {
        const lane = createLane(origin)
        const commit = lane.commit.bind(lane)
        lane.commit = async (...call) => {
          const done = await commit(...call)
          return done.outcome === 'moved' ? { outcome: 'appended', first: 0, last: 0, clock: 0 } : done
        }
        return lane
      }
    },
  },
  {
    name: 'answers that are not decided on the ticket',
    plan: 3,
    violation: /is settled again|it is at .*, but .* was settled at|the ticket is/,
    store: withCurrentTicket,
  },
  {
    name: 'a denied call that runs',
    violation: /is requested again|had no approval|the fold dropped it/,
    need: need => (need.for === 'denial' ? { for: 'run' } : need),
  },
]

// Mutants: each breaks one rule, in the calls of the manager to its store or in the store.

import { decodeBatch, encodeBatch, type NewEntry } from '../../store/entry.ts'
import type { Batch, LogStore, TicketMove } from '../../store/log-store.ts'
import { advance, recordOf, type Ticket, ticketOf } from '../../ticket/ticket.ts'
import type { Mutation } from './log-schedule.fixture.ts'
import type { Process } from './scheduler.fixture.ts'

export interface Mutant extends Mutation {
  readonly name: string
  /** The violation that the schedules must report. */
  readonly found: RegExp
  /** The first seed that finds it. */
  readonly seed: number
}

const HEAD = { batches: 0, bytes: 0 }

const entriesOf = ({ body, count }: Batch): NewEntry[] => {
  const entries = decodeBatch({ first: 1, last: count, timestamp: 0, mark: '', body })
  return entries.map(({ sequence, timestamp, ...entry }) => entry)
}

/** A store with some calls replaced. */
const withCalls = (store: LogStore, changes: Partial<LogStore>): LogStore => {
  const methods = Object.getOwnPropertyNames(Object.getPrototypeOf(store)).concat(Object.keys(store))
  const bound = methods.flatMap(name => {
    const value = (store as unknown as Record<string, unknown>)[name]
    return name === 'constructor' ? [] : [[name, typeof value === 'function' ? value.bind(store) : value]]
  })
  return { ...(Object.fromEntries(bound) as LogStore), maxBatchBytes: store.maxBatchBytes, ...changes }
}

/** Applies the move to the current ticket, regardless of its version. */
async function unconditional(
  store: LogStore,
  streamId: string,
  batch: Batch,
  ticket: TicketMove | undefined,
): Promise<TicketMove | undefined> {
  const page = ticket && (await store.read(streamId, { sequence: 0 }, HEAD))
  if (page === undefined) return ticket
  return { ifVersion: page.version, next: recordOf(advance(ticketOf(page.ticket), entriesOf(batch))) }
}

/** Drops the version of a writer's appends. */
const unconditionalBy = (type: string) => (store: LogStore) =>
  withCalls(store, {
    async append(streamId, batch, by, ticket) {
      const hasType = 'epoch' in by && entriesOf(batch).some(({ chunk }) => chunk.type === type)
      return store.append(streamId, batch, by, hasType ? await unconditional(store, streamId, batch, ticket) : ticket)
    },
  })

/** Drops the discards of a takeover. */
const withoutDiscards = (store: LogStore) =>
  withCalls(store, {
    append(streamId, batch, by, ticket) {
      const entries = entriesOf(batch)
      const [first] = entries
      if (first?.chunk.type !== 'executor-superseded' || !ticket) return store.append(streamId, batch, by, ticket)
      const remaining = entries.filter(({ chunk }) => chunk.type !== 'step-discarded')
      const state = JSON.parse(ticket.next.state) as Ticket
      const next = recordOf({ ...state, cuts: state.cuts - (entries.length - remaining.length) })
      return store.append(streamId, encodeBatch(remaining), by, { ...ticket, next })
    },
  })

/** Gives each retry of a writer's append a new counter. */
const withNewCounters = (store: LogStore) => {
  let counter = 0
  return withCalls(store, {
    append: (streamId, batch, by, ticket) => {
      return store.append(streamId, batch, 'epoch' in by ? { ...by, counter: ++counter } : by, ticket)
    },
  })
}

const ofReaders = (change: (store: LogStore) => LogStore) => (store: LogStore, process: Process) =>
  process.name.startsWith('reader') ? change(store) : store

export const MUTANTS: readonly Mutant[] = [
  {
    name: 'a guest that appends without a version',
    seed: 1,
    found: /law 5/,
    manager: store =>
      withCalls(store, {
        async append(streamId, batch, by, ticket) {
          const page = 'key' in by && ticket && (await store.read(streamId, { sequence: 0 }, HEAD))
          return store.append(streamId, batch, by, page ? { ...ticket, ifVersion: page.version } : ticket)
        },
      }),
  },
  { name: 'a pause without a version', seed: 31, found: /quiet/, manager: unconditionalBy('run-paused') },
  { name: 'an end without a version', seed: 88, found: /law 5/, manager: unconditionalBy('run-finished') },
  { name: 'a discard without a version', seed: 3, found: /law 5/, manager: unconditionalBy('step-discarded') },
  { name: 'a takeover without discards', seed: 6, found: /law 4/, manager: withoutDiscards },
  { name: 'a retried append with a new counter', seed: 1, found: /law [15]/, manager: withNewCounters },
  {
    name: 'a guest that does not look up its key',
    seed: 1,
    found: /law 5: .* was refused as/,
    manager: store => withCalls(store, { find: async () => undefined }),
  },
  {
    name: 'a reader without proof in its cursor',
    seed: 1,
    found: /law 2/,
    manager: ofReaders(store =>
      withCalls(store, { read: (streamId, { sequence }, limit) => store.read(streamId, { sequence }, limit) }),
    ),
  },
  {
    name: 'a late reader that sees retracted entries',
    seed: 1,
    found: /law 3/,
    manager: ofReaders(store =>
      withCalls(store, {
        async read(streamId, after, limit) {
          const page = await store.read(streamId, after, limit)
          return page?.ticket ? { ...page, ticket: JSON.stringify({ ...ticketOf(page.ticket), cuts: 0 }) } : page
        },
      }),
    ),
  },
  {
    name: 'a reader without wake-ups',
    seed: 1,
    found: /quiet/,
    manager: ofReaders(store => withCalls(store, { watch: () => () => {} })),
  },
  {
    name: 'a trim that drops needed entries',
    seed: 2,
    found: /law 12/,
    manager: store => withCalls(store, { trim: (streamId, floor) => store.trim(streamId, floor + 4) }),
  },
  {
    name: 'a fork that does not close open work',
    seed: 1,
    found: /fork/,
    manager: store =>
      withCalls(store, {
        fork: (source, at, target, fork) => store.fork(source, at, target, { ...fork, closing: null }),
      }),
  },
  {
    name: 'a snapshot that lags behind its sequence',
    seed: 1,
    found: /law 12|law 3|law 5/,
    manager: store => {
      let body: string | undefined
      return withCalls(store, {
        putSnapshot(streamId, snapshot, keep) {
          const before = body ?? snapshot.body
          body = snapshot.body
          return store.putSnapshot(streamId, { ...snapshot, body: before }, keep)
        },
      })
    },
  },
  {
    name: 'a store without fencing',
    seed: 2,
    found: /law 4/,
    store: store => {
      const epochs = new Map<string, string>()
      return withCalls(store, {
        async claim(streamId, owner, ttlMs, takeover) {
          const claim = await store.claim(streamId, owner, ttlMs, takeover)
          if (claim.outcome === 'claimed') epochs.set(streamId, claim.epoch)
          return claim
        },
        append(streamId, batch, by, ticket) {
          const epoch = epochs.get(streamId)
          const open = 'epoch' in by && epoch !== undefined ? { ...by, epoch } : by
          return store.append(streamId, batch, open, ticket)
        },
      })
    },
  },
  { name: 'a store that does not recognise a retry', seed: 1, found: /law 5/, store: withNewCounters },
  {
    name: 'a store that ignores versions',
    seed: 1,
    found: /law 5/,
    store: store =>
      withCalls(store, {
        async append(streamId, batch, by, ticket) {
          return store.append(streamId, batch, by, await unconditional(store, streamId, batch, ticket))
        },
      }),
  },
  {
    name: 'a store that loses due logs',
    seed: 1,
    found: /due|quiet/,
    store: store => {
      let calls = 0
      return withCalls(store, {
        due: async (programs, limit) => (++calls % 7 === 0 ? [] : await store.due(programs, limit)),
      })
    },
  },
  {
    name: 'a store that appends half of a batch',
    seed: 1,
    found: /law 1/,
    store: store => {
      let calls = 0
      return withCalls(store, {
        async append(streamId, batch, by, ticket) {
          if (batch.count < 2 || ++calls % 20 > 0) return store.append(streamId, batch, by, ticket)
          const half = encodeBatch(entriesOf(batch).slice(0, 1))
          const result = await store.append(streamId, half, by, ticket)
          return 'first' in result ? { ...result, last: result.first + batch.count - 1 } : result
        },
      })
    },
  },
]

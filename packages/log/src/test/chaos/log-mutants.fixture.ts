// What goes wrong when a rule is left out: each breaks one thing, in the manager's calls on their way to the store or in the store itself.

import { decodeBatch, encodeBatch, type NewEntry } from '../../store/entry.ts'
import type { Batch, LogStore, TicketMove } from '../../store/log-store.ts'
import { advance, recordOf, type Ticket, ticketOf } from '../../ticket/ticket.ts'
import type { Mutation } from './log-schedule.fixture.ts'
import type { Process } from './scheduler.fixture.ts'

export interface Mutant extends Mutation {
  readonly name: string
  /** The violation that the schedules must report. */
  readonly found: RegExp
  /** The first seed whose schedule finds it. */
  readonly seed: number
}

const HEAD = { batches: 0, bytes: 0 }

const entriesOf = ({ body, count }: Batch): NewEntry[] => {
  const entries = decodeBatch({ first: 1, last: count, timestamp: 0, mark: '', body })
  return entries.map(({ sequence, timestamp, ...entry }) => entry)
}

/** A store that differs in some calls. */
const changed = (store: LogStore, changes: Partial<LogStore>): LogStore => {
  const methods = Object.getOwnPropertyNames(Object.getPrototypeOf(store)).concat(Object.keys(store))
  const bound = methods.flatMap(name => {
    const value = (store as unknown as Record<string, unknown>)[name]
    return name === 'constructor' ? [] : [[name, typeof value === 'function' ? value.bind(store) : value]]
  })
  return { ...(Object.fromEntries(bound) as LogStore), maxBatchBytes: store.maxBatchBytes, ...changes }
}

/** The same move on the ticket as it is now, whatever it was decided on. */
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

/** Drops the condition of a writer's appends that say something. */
const unconditionalBy = (type: string) => (store: LogStore) =>
  changed(store, {
    async append(streamId, batch, by, ticket) {
      const says = 'epoch' in by && entriesOf(batch).some(({ chunk }) => chunk.type === type)
      return store.append(streamId, batch, by, says ? await unconditional(store, streamId, batch, ticket) : ticket)
    },
  })

/** Leaves the discards of a takeover out. */
const withoutDiscards = (store: LogStore) =>
  changed(store, {
    append(streamId, batch, by, ticket) {
      const entries = entriesOf(batch)
      const [first] = entries
      if (first?.chunk.type !== 'executor-superseded' || !ticket) return store.append(streamId, batch, by, ticket)
      const kept = entries.filter(({ chunk }) => chunk.type !== 'step-discarded')
      const state = JSON.parse(ticket.next.state) as Ticket
      const next = recordOf({ ...state, cuts: state.cuts - (entries.length - kept.length) })
      return store.append(streamId, encodeBatch(kept), by, { ...ticket, next })
    },
  })

/** Sends a writer's append under a number of its own each time. */
const recounted = (store: LogStore) => {
  let counter = 0
  return changed(store, {
    append: (streamId, batch, by, ticket) => {
      return store.append(streamId, batch, 'epoch' in by ? { ...by, counter: ++counter } : by, ticket)
    },
  })
}

const ofReaders = (change: (store: LogStore) => LogStore) => (store: LogStore, process: Process) =>
  process.name.startsWith('reader') ? change(store) : store

export const MUTANTS: readonly Mutant[] = [
  {
    name: 'a guest whose append is not conditional',
    seed: 1,
    found: /law 5/,
    manager: store =>
      changed(store, {
        async append(streamId, batch, by, ticket) {
          const page = 'key' in by && ticket && (await store.read(streamId, { sequence: 0 }, HEAD))
          return store.append(streamId, batch, by, page ? { ...ticket, ifVersion: page.version } : ticket)
        },
      }),
  },
  { name: 'a pause that is not conditional', seed: 64, found: /quiet/, manager: unconditionalBy('run-paused') },
  { name: 'an end that is not conditional', seed: 34, found: /law 5/, manager: unconditionalBy('run-finished') },
  { name: 'a discard that is not conditional', seed: 9, found: /law 5/, manager: unconditionalBy('step-discarded') },
  { name: 'a takeover without discards', seed: 6, found: /law 4/, manager: withoutDiscards },
  { name: 'a repeated append that looks like a new one', seed: 1, found: /law [15]/, manager: recounted },
  {
    name: 'a guest who does not look for its key',
    seed: 1,
    found: /law 5: .* was told/,
    manager: store => changed(store, { find: async () => undefined }),
  },
  {
    name: 'a reader that proves nothing',
    seed: 1,
    found: /law 2/,
    manager: ofReaders(store =>
      changed(store, { read: (streamId, { sequence }, limit) => store.read(streamId, { sequence }, limit) }),
    ),
  },
  {
    name: 'a late reader that is shown what was taken back',
    seed: 1,
    found: /law 3/,
    manager: ofReaders(store =>
      changed(store, {
        async read(streamId, after, limit) {
          const page = await store.read(streamId, after, limit)
          return page?.ticket ? { ...page, ticket: JSON.stringify({ ...ticketOf(page.ticket), cuts: 0 }) } : page
        },
      }),
    ),
  },
  {
    name: 'a reader that is woken by nothing',
    seed: 1,
    found: /quiet/,
    manager: ofReaders(store => changed(store, { watch: () => () => {} })),
  },
  {
    name: 'a trim that takes more than it may',
    seed: 1,
    found: /law 12/,
    manager: store => changed(store, { trim: (streamId, floor) => store.trim(streamId, floor + 4) }),
  },
  {
    name: 'a fork that leaves open what was open',
    seed: 1,
    found: /fork/,
    manager: store =>
      changed(store, {
        fork: (source, at, target, fork) => store.fork(source, at, target, { ...fork, closing: null }),
      }),
  },
  {
    name: 'a snapshot that is a little behind',
    seed: 1,
    found: /law 12|law 3|law 5/,
    manager: store => {
      let body: string | undefined
      return changed(store, {
        putSnapshot(streamId, snapshot, keep) {
          const before = body ?? snapshot.body
          body = snapshot.body
          return store.putSnapshot(streamId, { ...snapshot, body: before }, keep)
        },
      })
    },
  },
  {
    name: 'a store without a fence',
    seed: 2,
    found: /law 4/,
    store: store => {
      const epochs = new Map<string, string>()
      return changed(store, {
        async claim(streamId, owner, ttl, takeover) {
          const claim = await store.claim(streamId, owner, ttl, takeover)
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
  { name: 'a store that does not know a repeat', seed: 2, found: /law 5/, store: recounted },
  {
    name: 'a store that looks at no version',
    seed: 1,
    found: /law 5/,
    store: store =>
      changed(store, {
        async append(streamId, batch, by, ticket) {
          return store.append(streamId, batch, by, await unconditional(store, streamId, batch, ticket))
        },
      }),
  },
  {
    name: 'a store that forgets what is due',
    seed: 1,
    found: /due|quiet/,
    store: store => {
      let calls = 0
      return changed(store, {
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
      return changed(store, {
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

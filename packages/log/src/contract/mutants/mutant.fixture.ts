// A mutant is the memory store with exactly one fault. The named cases must fail with the given messages. Other cases may
// fail only in the groups in `within`.

import type { Batch, GuestAppend, LogStore, TicketMove, WriterAppend } from '../../store/log-store.ts'
import type { Log } from '../../stores/memory/log.ts'
import { Memory, memoryStore } from '../../stores/memory/memory-store.ts'
import type { StoreUnderTest } from '../contract-case.ts'
import type { groups } from '../groups.ts'
import { type HeartbeatFaults, type RenewLease, TimerHeartbeat } from './timer-heartbeat.fixture.ts'

export interface Mutant {
  readonly fault: string
  /** Titles of cases that must fail, and a pattern of their message. */
  readonly caught: Readonly<Record<string, RegExp>>
  /** Groups in which cases may fail. All others pass. */
  readonly within: readonly (keyof typeof groups)[]
  /** Wraps each handle with the fault. */
  readonly handle?: (memory: Memory) => (store: LogStore) => Partial<LogStore>
  /** Faults of the heartbeat of each handle. */
  readonly heartbeat?: (memory: Memory) => HeartbeatFaults
  /** Changes the data on a restart. */
  readonly restart?: (memory: Memory) => void
}

/** Small limits, so that batches are quickly too large. */
const MAX_BATCH_BYTES = 64 * 1024

/** A store under test with its own memory. @default without a fault */
export function subjectOf(mutant?: Mutant): StoreUnderTest {
  let ahead = 0
  const memory = new Memory({ clock: () => Date.now() + ahead })
  const faults = mutant?.handle?.(memory)
  const open: OpenHeartbeats = { count: 0, all: new Set() }
  return {
    timeoutMs: 100,
    open: async () => {
      const store = withHeartbeat(memoryStore(undefined, memory), memory, open, mutant?.heartbeat?.(memory))
      Object.assign(store, { maxBatchBytes: MAX_BATCH_BYTES })
      return faults === undefined ? store : withFaults(store, faults(store))
    },
    advance: async ms => {
      ahead += ms
    },
    restart: async () => mutant?.restart?.(memory),
  }
}

interface OpenHeartbeats {
  /** Number of handles that are open. */
  count: number
  /** The heartbeats that were opened since no handle was open. */
  readonly all: Set<TimerHeartbeat>
}

/** Adds a heartbeat with a connection of its own. The last handle to close ends all heartbeats, whatever their faults. */
function withHeartbeat(store: LogStore, memory: Memory, open: OpenHeartbeats, faults?: HeartbeatFaults): LogStore {
  const { close } = store
  const own = memoryStore(undefined, memory)
  const renew = async (...args: Parameters<RenewLease>) => (await own.renew(...args)) !== undefined
  const heartbeat = new TimerHeartbeat(renew, faults)
  open.count++
  open.all.add(heartbeat)
  return Object.assign(store, {
    heartbeat,
    close: async () => {
      heartbeat.close()
      if (--open.count === 0) {
        for (const each of open.all) each.end()
        open.all.clear()
      }
      await close.call(store)
    },
  })
}

function withFaults(store: LogStore, faults: Partial<LogStore>): LogStore {
  return new Proxy(store, {
    get: (_, name) => {
      const value: unknown = Reflect.get(faults, name) ?? Reflect.get(store, name)
      return typeof value === 'function' ? value.bind(store) : value
    },
  })
}

/** The arguments of an append, and its log. */
export interface Call {
  readonly log: Log
  readonly streamId: string
  readonly batch: Batch
  readonly by: WriterAppend | GuestAppend
  readonly ticket: TicketMove | undefined
  /** Appends with the healthy store. Given arguments replace the original ones. */
  readonly go: (changed?: {
    batch?: Batch
    by?: WriterAppend | GuestAppend
    ticket?: TicketMove | undefined
  }) => ReturnType<LogStore['append']>
}

/** A fault in appends to existing logs. */
export const appendFault =
  (fault: (call: Call, memory: Memory) => ReturnType<LogStore['append']>) =>
  (memory: Memory) =>
  (store: LogStore): Partial<LogStore> => ({
    append: (streamId, batch, by, ticket) => {
      const log = memory.logs.get(streamId)
      if (log === undefined) return store.append(streamId, batch, by, ticket)
      const go: Call['go'] = changed => {
        const next = { batch, by, ticket, ...changed }
        return store.append(streamId, next.batch, next.by, next.ticket)
      }
      return fault({ log, streamId, batch, by, ticket, go }, memory)
    },
  })

/** Lets all other calls in flight run first. */
export const yields = async (): Promise<void> => {
  for (let i = 0; i < 5; i++) await null
}

// A mutant is the memory store with exactly one fault. The suite must find it, by the cases that are named here and for the reason that is
// given, and nothing else may fail but cases about the same things.

import type { Batch, GuestAppend, LogStore, TicketMove, WriterAppend } from '../../store/log-store.ts'
import type { Log } from '../../stores/memory/log.ts'
import { Memory, memoryStore } from '../../stores/memory/memory-store.ts'
import type { StoreUnderTest } from '../case.ts'
import type { groups } from '../groups.ts'

export interface Mutant {
  readonly fault: string
  /** The titles of cases that must fail, and what they must say. */
  readonly caught: Readonly<Record<string, RegExp>>
  /** The groups in which a case may fail; all others pass. */
  readonly within: readonly (keyof typeof groups)[]
  /** What the fault does to each handle. */
  readonly handle?: (memory: Memory) => (store: LogStore) => Partial<LogStore>
  /** What a restart leaves. */
  readonly restart?: (memory: Memory) => void
}

/** The store in small, so that what is too large is quickly made. */
const MAX_BATCH_BYTES = 64 * 1024

/** A subject over a memory of its own, healthy unless a mutant is given. */
export function subjectOf(mutant?: Mutant): StoreUnderTest {
  let ahead = 0
  const memory = new Memory({ clock: () => Date.now() + ahead })
  const faults = mutant?.handle?.(memory)
  return {
    patience: 100,
    open: async () => {
      const store = Object.assign(memoryStore(undefined, memory), { maxBatchBytes: MAX_BATCH_BYTES })
      return faults === undefined ? store : withFaults(store, faults(store))
    },
    advance: async ms => {
      ahead += ms
    },
    restart: async () => mutant?.restart?.(memory),
  }
}

function withFaults(store: LogStore, faults: Partial<LogStore>): LogStore {
  return new Proxy(store, {
    get: (_, name) => {
      const value: unknown = Reflect.get(faults, name) ?? Reflect.get(store, name)
      return typeof value === 'function' ? value.bind(store) : value
    },
  })
}

/** An append as it came, and the log to which it goes. */
export interface Call {
  readonly log: Log
  readonly streamId: string
  readonly batch: Batch
  readonly by: WriterAppend | GuestAppend
  readonly ticket: TicketMove | undefined
  /** The healthy store's append, of what is given in place of what came. */
  readonly go: (changed?: {
    batch?: Batch
    by?: WriterAppend | GuestAppend
    ticket?: TicketMove | undefined
  }) => ReturnType<LogStore['append']>
}

/** A fault in appends to logs that are there. */
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

/** Lets everybody else who is at work go first. */
export const yields = async (): Promise<void> => {
  for (let i = 0; i < 5; i++) await null
}

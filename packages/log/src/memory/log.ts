import { randomName, versionOf } from '../names.ts'
import type { Accepted, StoredBatch, StoredSnapshot, TicketRecord } from '../store.ts'

/** One log, as the memory store keeps it. */
export interface Log {
  incarnation: string
  head: number
  mark: string
  floor: number
  floorMark: string
  /** Of the last append. */
  timestamp: number
  version: string
  ticket: TicketRecord
  dueAt: number | null
  epochs: number
  epoch: string | null
  /** The writer's last append under this epoch. */
  latest: { readonly counter: number; readonly result: Accepted } | undefined
  lease: { readonly owner: string; readonly until: number } | null
  readonly principal: string | null
  readonly createdAt: number
  touchedAt: number
  batches: StoredBatch[]
  readonly keys: Map<string, { readonly first: number; readonly last: number; readonly keep: boolean }>
  snapshots: StoredSnapshot[]
  readonly blobs: Map<string, Uint8Array>
}

/** An empty log with an incarnation of its own. */
export function newLog(principal: string | null, now: number): Log {
  const incarnation = randomName()
  return {
    incarnation,
    head: 0,
    mark: '0',
    floor: 0,
    floorMark: '0',
    timestamp: now,
    version: versionOf(0, incarnation, '0'),
    ticket: { state: '', due: { at: null, program: null } },
    dueAt: null,
    epochs: 0,
    epoch: null,
    latest: undefined,
    lease: null,
    principal,
    createdAt: now,
    touchedAt: now,
    batches: [],
    keys: new Map(),
    snapshots: [],
    blobs: new Map(),
  }
}

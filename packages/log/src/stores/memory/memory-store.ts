// Logs in the memory of one process, for tests and for work that may be lost. Each call runs synchronously, which
// makes it atomic.

import type { Cursor, UnprovenCursor } from '@millrace/protocol'
import { checkAppend, checkFork, checkIntegers, checkNames, checkTtl, listTokenError } from '../../store/checks.ts'
import { LogError } from '../../store/log-error.ts'
import type {
  Accepted,
  AppendResult,
  Batch,
  BlobScope,
  BlobUsage,
  ClaimResult,
  Due,
  Fork,
  ForkResult,
  GuestAppend,
  ListPage,
  LogStore,
  OldestPage,
  Page,
  ReadLimit,
  StoredSnapshot,
  TicketMove,
  Wake,
  WriterAppend,
} from '../../store/log-store.ts'
import { randomName, versionOf } from '../../store/names.ts'
import { listStartName, listTokenName } from '../../store/session-id.ts'
import { batchesAfter, cutBatch, hasAcknowledged, indexAfter, type Log, markAt, newLog, truncationOf } from './log.ts'

const MAX_BATCH_BYTES = 8 * 1024 * 1024

/** Options of `memoryStore`. */
export interface MemoryOptions {
  /**
   * The store's clock, in ms.
   *
   * @default Date.now
   */
  readonly clock?: () => number
}

/** The logs in memory, which any number of handles may share. */
export class Memory {
  /** All logs by id. */
  readonly logs = new Map<string, Log>()
  /** Callbacks of the watchers of each log, by id of the log. */
  readonly watchers = new Map<string, Set<Wake>>()
  /** The clock of all stores on this memory, in ms since 1970. */
  readonly clock: () => number

  constructor({ clock = Date.now }: MemoryOptions = {}) {
    this.clock = clock
  }

  /** Calls the watchers of a log. `head` is the last sequence of an append. */
  wake(streamId: string, head?: number): void {
    for (const wake of this.watchers.get(streamId) ?? []) wake(head)
  }
}

/** Opens a store in the memory of this process. Handles with the same `Memory` share its logs. */
export const memoryStore = (options?: MemoryOptions, memory = new Memory(options)): LogStore => new MemoryStore(memory)

class MemoryStore implements LogStore {
  readonly maxBatchBytes = MAX_BATCH_BYTES
  readonly #memory: Memory
  readonly #watches = new Map<() => void, Wake>()
  #closed = false

  constructor(memory: Memory) {
    this.#memory = memory
  }

  /** Runs an operation asynchronously, like the other stores. */
  async #call<T>(operation: (memory: Memory) => T): Promise<T> {
    if (this.#closed) throw new LogError('closed', 'the store was closed: open another handle')
    return operation(this.#memory)
  }

  async create(streamId: string, principal: string | null): Promise<boolean> {
    checkNames({ streamId, principal })
    return this.#call(({ logs, clock }) => {
      if (logs.has(streamId)) return false
      logs.set(streamId, newLog(principal, clock()))
      return true
    })
  }

  async append(
    streamId: string,
    batch: Batch,
    by: WriterAppend | GuestAppend,
    ticket?: TicketMove,
  ): Promise<AppendResult> {
    checkAppend(streamId, batch, by, ticket)
    return this.#call(memory => {
      const log = memory.logs.get(streamId)
      const result = appendTo(log, batch, by, ticket, memory.clock(), this.maxBatchBytes)
      if (result.outcome === 'appended') memory.wake(streamId, result.last)
      else if (result.outcome === 'regressed') memory.wake(streamId)
      return result
    })
  }

  async read(streamId: string, after: Cursor | UnprovenCursor, limit: ReadLimit): Promise<Page | undefined> {
    checkNames({ streamId })
    checkIntegers({ sequence: after.sequence, ...limit })
    return this.#call(({ logs, clock }) => {
      const log = logs.get(streamId)
      if (log === undefined) return undefined
      const { incarnation, head, mark, floor, version, ticket, principal, createdAt, touchedAt, lease } = log
      const truncated = truncationOf(log, after)
      const batches = truncated === null ? batchesAfter(log, after.sequence, limit) : []
      const state = { incarnation, head, mark, floor, version, ticket: ticket.state, principal, createdAt, touchedAt }
      return { ...state, lease: lease && { ...lease }, clock: clock(), batches, truncated }
    })
  }

  async find(streamId: string, key: string): Promise<{ first: number; last: number } | undefined> {
    checkNames({ streamId, key })
    return this.#call(({ logs }) => {
      const found = logs.get(streamId)?.keys.get(key)
      return found && { first: found.first, last: found.last }
    })
  }

  watch(streamId: string, wake: Wake): () => void {
    checkNames({ streamId })
    const { watchers } = this.#memory
    const listener: Wake = head => wake(head)
    const all = watchers.get(streamId) ?? new Set()
    watchers.set(streamId, all.add(listener))
    const stop = () => {
      this.#watches.delete(stop)
      if (all.delete(listener) && all.size === 0 && watchers.get(streamId) === all) watchers.delete(streamId)
    }
    this.#watches.set(stop, listener)
    return stop
  }

  async claim(streamId: string, owner: string, ttlMs: number, takeover: boolean): Promise<ClaimResult> {
    checkNames({ streamId, owner })
    checkTtl(ttlMs)
    return this.#call(memory => {
      const log = memory.logs.get(streamId)
      if (log === undefined) return { outcome: 'absent' }
      const clock = memory.clock()
      if (log.lease && log.lease.until > clock && !takeover) return { outcome: 'busy', ...log.lease, clock }
      log.epochs++
      log.epoch = `${log.epochs}-${randomName()}`
      log.latest = undefined
      log.lease = { owner, until: clock + ttlMs }
      memory.wake(streamId)
      return { outcome: 'claimed', epoch: log.epoch, until: log.lease.until, clock }
    })
  }

  async renew(streamId: string, epoch: string, ttlMs: number): Promise<{ until: number; clock: number } | undefined> {
    checkNames({ streamId })
    checkTtl(ttlMs)
    return this.#call(({ logs, clock }) => {
      const log = logs.get(streamId)
      if (log?.epoch !== epoch || log.lease === null) return undefined
      const now = clock()
      log.lease = { ...log.lease, until: now + ttlMs }
      return { until: log.lease.until, clock: now }
    })
  }

  async release(streamId: string, epoch: string): Promise<void> {
    checkNames({ streamId })
    return this.#call(memory => {
      const log = memory.logs.get(streamId)
      if (log?.epoch !== epoch) return
      log.epoch = log.lease = null
      memory.wake(streamId)
    })
  }

  async due(programs: readonly string[], limit: number): Promise<readonly string[]> {
    for (const program of programs) checkNames({ program })
    checkIntegers({ limit })
    return this.#call(({ logs, clock }) => {
      const now = clock()
      const found: { streamId: string; wake: number }[] = []
      for (const [streamId, { dueAt, ticket, lease }] of logs) {
        const { program } = ticket.due
        const wake = dueAt === null ? Number.POSITIVE_INFINITY : Math.max(dueAt, lease?.until ?? 0)
        if (wake <= now && (program === null || programs.includes(program))) found.push({ streamId, wake })
      }
      found.sort((a, b) => a.wake - b.wake)
      return found.slice(0, limit).map(({ streamId }) => streamId)
    })
  }

  async putSnapshot(streamId: string, snapshot: StoredSnapshot, keep: number): Promise<void> {
    checkNames({ streamId })
    checkIntegers({ sequence: snapshot.sequence, keep })
    return this.#call(({ logs }) => {
      const log = logs.get(streamId)
      if (log === undefined) return
      const others = log.snapshots.filter(({ sequence }) => sequence !== snapshot.sequence)
      const all = [...others, { ...snapshot }].sort((a, b) => b.sequence - a.sequence)
      const atFloor = all.find(({ sequence }) => sequence <= log.floor)
      log.snapshots = all.filter((each, i) => i < keep || each === atFloor)
    })
  }

  async getSnapshot(streamId: string, atMost: number): Promise<StoredSnapshot | undefined> {
    checkNames({ streamId })
    checkIntegers({ atMost })
    return this.#call(({ logs }) => logs.get(streamId)?.snapshots.find(({ sequence }) => sequence <= atMost))
  }

  async putBlob(streamId: string, hash: string, data: Uint8Array): Promise<void> {
    checkNames({ streamId, hash })
    return this.#call(({ logs }) => void logs.get(streamId)?.blobs.set(hash, data.slice()))
  }

  async getBlob(streamId: string, hash: string): Promise<Uint8Array | undefined> {
    checkNames({ streamId, hash })
    return this.#call(({ logs }) => logs.get(streamId)?.blobs.get(hash)?.slice())
  }

  async blobUsage(scope: BlobScope, prefix: string): Promise<BlobUsage> {
    checkNames({ ...scope, prefix })
    return this.#call(({ logs }) => {
      let [count, bytes] = [0, 0]
      for (const [streamId, { principal, blobs }] of logs) {
        if ('streamId' in scope ? streamId !== scope.streamId : principal !== scope.principal) continue
        for (const [hash, data] of blobs) {
          if (!hash.startsWith(prefix)) continue
          count++
          bytes += data.byteLength
        }
      }
      return { count, bytes }
    })
  }

  async trim(streamId: string, floor: number, ifVersion?: string): Promise<boolean> {
    checkNames({ streamId })
    checkIntegers({ floor })
    return this.#call(memory => {
      const log = memory.logs.get(streamId)
      if (log === undefined || (ifVersion !== undefined && ifVersion !== log.version)) return false
      const to = Math.min(floor, log.head)
      if (to <= log.floor) return true
      log.floorMark = markAt(log, to) as string
      log.floor = to
      log.batches = log.batches.slice(indexAfter(log.batches, to))
      for (const [key, { last, keep }] of log.keys) if (last <= to && !keep) log.keys.delete(key)
      log.version = `${versionOf(log.head, log.incarnation, log.mark)}~${to}`
      memory.wake(streamId)
      return true
    })
  }

  async fork(source: string, at: number, target: string, fork: Fork): Promise<ForkResult> {
    checkFork(source, at, target, fork)
    const { principal, ticket, closing } = fork
    return this.#call(memory => {
      const from = memory.logs.get(source)
      if (from === undefined) return 'absent'
      if (memory.logs.has(target)) return 'exists'
      if (at > from.head || at < from.floor) return 'out-of-range'
      const timestamp = Math.max(memory.clock(), from.timestamp)
      const log = newLog(principal, timestamp)
      const { floor, floorMark, blobs } = from
      const batches = from.batches.filter(({ first }) => first <= at).map(batch => cutBatch(batch, at))
      if (closing) {
        const { body, count } = closing.batch
        batches.push({ first: at + 1, last: at + count, timestamp, mark: closing.nonce, body })
      }
      const head = closing ? at + closing.batch.count : at
      const mark = closing?.nonce ?? (markAt(from, at) as string)
      const keys = new Map([...from.keys].filter(([, { first }]) => first <= at))
      const snapshots = from.snapshots.filter(({ sequence }) => sequence <= at)
      const version = versionOf(head, log.incarnation, mark)
      const dueAt = dueAtOf(ticket.due, timestamp)
      const copy = { head, mark, floor, floorMark, batches, keys, snapshots, blobs: new Map(blobs) }
      memory.logs.set(target, { ...log, ...copy, version, ticket, dueAt })
      memory.wake(target)
      return 'forked'
    })
  }

  async list(principal: string | null, limit: number, after?: string): Promise<ListPage> {
    checkNames({ principal })
    checkIntegers({ limit })
    return this.#call(({ logs }) => {
      const from = after === undefined ? undefined : readToken(after, principal)
      const ownLogs = [...logs].filter(([, log]) => log.principal === principal)
      const listed = ownLogs.map(([streamId, { head, ticket, createdAt, touchedAt }]) => {
        return { streamId, head, ticket: ticket.state, createdAt, touchedAt }
      })
      listed.sort((a, b) => b.touchedAt - a.touchedAt || (a.streamId < b.streamId ? -1 : 1))
      const rest = listed.filter(log => {
        if (from === undefined || log.touchedAt < from.touchedAt) return true
        return log.touchedAt === from.touchedAt && log.streamId > from.streamId
      })
      const streams = rest.slice(0, limit)
      const end = streams.at(-1)
      const next = end && rest.length > limit ? JSON.stringify([end.touchedAt, listTokenName(end.streamId)]) : null
      return { streams, next }
    })
  }

  async listOldest(limit: number, after?: string): Promise<OldestPage> {
    checkIntegers({ limit })
    return this.#call(({ logs, clock }) => {
      const from = after === undefined ? undefined : readOldestToken(after)
      const all = [...logs].map(([streamId, { head, floor, ticket, createdAt, touchedAt, lease }]) => {
        return { streamId, head, floor, ticket: ticket.state, createdAt, touchedAt, lease: lease && { ...lease } }
      })
      all.sort((a, b) => a.touchedAt - b.touchedAt || (a.streamId < b.streamId ? -1 : 1))
      const rest = all.filter(log => {
        if (from === undefined || log.touchedAt > from.touchedAt) return true
        return log.touchedAt === from.touchedAt && log.streamId > from.streamId
      })
      const streams = rest.slice(0, limit)
      const end = streams.at(-1)
      const next = end && rest.length > limit ? JSON.stringify([end.touchedAt, end.streamId]) : null
      return { streams, next, clock: clock() }
    })
  }

  async remove(streamId: string, ifVersion?: string): Promise<boolean> {
    checkNames({ streamId })
    return this.#call(memory => {
      if (ifVersion !== undefined && memory.logs.get(streamId)?.version !== ifVersion) return false
      const existed = memory.logs.delete(streamId)
      if (existed) memory.wake(streamId)
      return existed
    })
  }

  restored(): Promise<number> {
    return this.#call(memory => {
      for (const [streamId, log] of memory.logs) {
        log.incarnation = randomName()
        log.epoch = log.lease = null
        memory.wake(streamId)
      }
      return memory.logs.size
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const [stop, wake] of [...this.#watches]) {
      stop()
      wake()
    }
  }
}

function appendTo(
  log: Log | undefined,
  batch: Batch,
  by: WriterAppend | GuestAppend,
  ticket: TicketMove | undefined,
  now: number,
  maxBytes: number,
): AppendResult {
  const isWriter = 'epoch' in by
  if (log === undefined) return { outcome: isWriter ? 'fenced' : 'moved' }
  const clock = Math.max(now, log.timestamp)
  if (isWriter) {
    const { latest } = log
    if (by.epoch !== log.epoch || (latest && by.counter < latest.counter)) return { outcome: 'fenced' }
    if (latest?.counter === by.counter) return { ...latest.result, outcome: 'duplicate' }
    if (!hasAcknowledged(log, by.lastAcked)) {
      log.incarnation = randomName()
      log.epoch = log.lease = null
      return { outcome: 'regressed' }
    }
  } else {
    const earlier = log.keys.get(by.key)
    if (earlier) return { outcome: 'duplicate', first: earlier.first, last: earlier.last, clock }
  }
  if (ticket && ticket.ifVersion !== log.version) return { outcome: 'moved' }
  if (bytesOf(batch.body, maxBytes) > maxBytes) return { outcome: 'too-large' }

  const mark = isWriter ? by.epoch : by.nonce
  const first = log.head + 1
  const last = log.head + batch.count
  const result: Accepted = { outcome: 'appended', first, last, clock }
  log.batches.push({ first, last, timestamp: clock, mark, body: batch.body })
  log.head = last
  log.mark = mark
  log.timestamp = clock
  if (isWriter) log.latest = { counter: by.counter, result }
  else log.keys.set(by.key, { first, last, keep: by.keep })
  if (ticket) {
    log.version = versionOf(last, log.incarnation, mark)
    log.ticket = ticket.next
    log.dueAt = dueAtOf(ticket.next.due, clock)
    log.touchedAt = clock
  }
  return result
}

/**
 * The size of a text in UTF-8, in bytes, or 0 if it cannot exceed the bound: a UTF-16 unit takes at most three bytes.
 */
const bytesOf = (text: string, bound: number): number => (text.length * 3 > bound ? Buffer.byteLength(text) : 0)

const dueAtOf = ({ at }: Due, clock: number): number | null => (at === 'now' ? clock : at)

function readToken(token: string, principal: string | null): TokenPosition {
  const { touchedAt, streamId } = parseToken(token, 'list')
  return { touchedAt, streamId: listStartName(principal, streamId) }
}

const readOldestToken = (token: string): TokenPosition => parseToken(token, 'listOldest')

/** The last log of a page, after which the next page begins. */
interface TokenPosition {
  readonly touchedAt: number
  readonly streamId: string
}

function parseToken(token: string, method: 'list' | 'listOldest'): TokenPosition {
  try {
    const [touchedAt, streamId] = JSON.parse(token) as [unknown, unknown]
    if (typeof touchedAt === 'number' && typeof streamId === 'string') return { touchedAt, streamId }
  } catch {}
  throw listTokenError(method)
}

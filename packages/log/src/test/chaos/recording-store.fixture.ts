// Wraps the real store: each answer is compared with the record of earlier answers.

import type { Cursor, UnprovenCursor } from '@millrace/protocol'
import { decodeBatch } from '../../store/entry.ts'
import type {
  AppendResult,
  Batch,
  ClaimResult,
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
  WriterAppend,
} from '../../store/log-store.ts'
import { dueOf, ticketOf } from '../../ticket/ticket.ts'
import { LogRecord } from './log-record.fixture.ts'
import type { World } from './schedule-world.fixture.ts'

/** The lease on a store with its own clock, in ms. The schedule ends it by a renewal for 0 ms. */
const HOUR = 3_600_000

/** Does not pass on `watch`: the schedule decides when wake-ups arrive. */
export class RecordingStore implements Omit<LogStore, 'watch'> {
  readonly maxBatchBytes: number
  readonly #store: LogStore
  readonly #world: World

  constructor(store: LogStore, world: World) {
    this.#store = store
    this.#world = world
    this.maxBatchBytes = store.maxBatchBytes
  }

  #log(streamId: string): LogRecord | undefined {
    return this.#world.logs.get(streamId)
  }

  /** Records the new incarnation of a log. */
  async #recordIncarnation(log: LogRecord): Promise<void> {
    const page = await this.#store.read(log.streamId, { sequence: 0 }, { batches: 0, bytes: 0 })
    const incarnation = page?.incarnation as string
    const isNew = !log.incarnations.includes(incarnation)
    this.#world.check(isNew, 'law 2', () => `${log.streamId} has the same incarnation as before`)
    log.incarnations.push(incarnation)
    log.epoch = log.leaseUntil = null
    log.latest = undefined
    log.laws.onRelease()
    if (log.version === '') log.version = page?.version as string
  }

  /** The clock for expiry of leases. */
  get #now(): number {
    const { scheduleStore, scheduler } = this.#world
    return scheduleStore.clock?.time ?? scheduler.now
  }

  /** Lets expired leases end on a store with its own clock. */
  async #expire(): Promise<void> {
    const { scheduleStore, logs, scheduler } = this.#world
    if (scheduleStore.clock) return
    for (const log of logs.values()) {
      if (log.leaseUntil === null || log.leaseUntil > scheduler.now || log.epoch === null) continue
      await this.#store.renew(log.streamId, log.epoch, 0)
    }
  }

  async create(streamId: string, principal: string | null): Promise<boolean> {
    const isNew = await this.#store.create(streamId, principal)
    this.#world.check(
      isNew !== this.#world.logs.has(streamId),
      'law 1',
      () => `create of ${streamId} returned ${isNew}`,
    )
    if (!isNew) return false
    const log = new LogRecord(this.#world, streamId)
    this.#world.logs.set(streamId, log)
    await this.#recordIncarnation(log)
    return true
  }

  async append(
    streamId: string,
    batch: Batch,
    by: WriterAppend | GuestAppend,
    ticket?: TicketMove,
  ): Promise<AppendResult> {
    const log = this.#log(streamId)
    const result = await this.#store.append(streamId, batch, by, ticket)
    if (log) log.append(batch, by, ticket, result)
    else {
      const expected = 'epoch' in by ? 'fenced' : 'moved'
      this.#world.check(result.outcome === expected, 'law 4', () => `append to a missing log: ${result.outcome}`)
    }
    if ('clock' in result) this.#world.clock = Math.max(this.#world.clock, result.clock)
    if (result.outcome === 'appended') this.#world.wake(streamId, result.last)
    return result
  }

  async read(streamId: string, after: Cursor | UnprovenCursor, limit: ReadLimit): Promise<Page | undefined> {
    const page = await this.#store.read(streamId, after, limit)
    if (page) this.#world.clock = Math.max(this.#world.clock, page.clock)
    return page
  }

  find(streamId: string, key: string): ReturnType<LogStore['find']> {
    return this.#store.find(streamId, key)
  }

  async claim(streamId: string, owner: string, ttlMs: number, takeover: boolean): Promise<ClaimResult> {
    await this.#expire()
    const { scheduleStore } = this.#world
    const claim = await this.#store.claim(streamId, owner, scheduleStore.clock ? ttlMs : HOUR, takeover)
    const log = this.#log(streamId)
    const expected = log === undefined ? ['absent'] : this.#expectedOfClaim(log, takeover)
    this.#world.check(expected.includes(claim.outcome), 'law 4', () => {
      return `claim of ${streamId}: expected ${expected.join(' or ')}, was ${claim.outcome}`
    })
    if (claim.outcome !== 'claimed' || log === undefined) return claim
    log.epoch = claim.epoch
    log.latest = undefined
    this.#recordLease(log, ttlMs)
    this.#world.wake(streamId)
    return claim
  }

  #expectedOfClaim({ leaseUntil, steadyLeaseUntil }: LogRecord, takeover: boolean): readonly string[] {
    const { clock } = this.#world.scheduleStore
    if (leaseUntil === null || takeover) return ['claimed']
    if (clock?.steady === undefined) return [leaseUntil > this.#now ? 'busy' : 'claimed']
    // However the other clock jumps. A handle that has not seen the expired lease for long enough is told `busy`.
    return steadyLeaseUntil > clock.steady ? ['busy'] : ['busy', 'claimed']
  }

  #recordLease(log: LogRecord, ttlMs: number): void {
    log.leaseUntil = this.#now + ttlMs
    log.steadyLeaseUntil = (this.#world.scheduleStore.clock?.steady ?? 0) + ttlMs
  }

  async renew(streamId: string, epoch: string, ttlMs: number): ReturnType<LogStore['renew']> {
    const renewed = await this.#store.renew(streamId, epoch, this.#world.scheduleStore.clock ? ttlMs : HOUR)
    const log = this.#log(streamId)
    const isOwn = log?.epoch === epoch
    this.#world.check((renewed !== undefined) === isOwn, 'law 4', () => `renewal of ${epoch}: ${renewed}`)
    if (renewed && log) this.#recordLease(log, ttlMs)
    return renewed
  }

  async release(streamId: string, epoch: string): Promise<void> {
    await this.#store.release(streamId, epoch)
    const log = this.#log(streamId)
    if (log?.epoch !== epoch) return
    log.epoch = log.leaseUntil = null
    log.laws.onRelease()
    this.#world.wake(streamId)
  }

  async due(programs: readonly string[], limit: number): Promise<readonly string[]> {
    await this.#expire()
    const found = await this.#store.due(programs, limit)
    const expected = [...this.#world.logs.values()].filter(log => this.#isDue(log, programs)).map(log => log.streamId)
    for (const streamId of found) {
      this.#world.check(expected.includes(streamId), 'due', () => `due returns ${streamId}, whose ticket is not due`)
    }
    for (const streamId of expected) {
      const isReturned = found.includes(streamId) || found.length >= limit
      this.#world.check(isReturned, 'due', () => `due does not return ${streamId}, whose ticket is due`)
    }
    return found
  }

  #isDue(log: LogRecord, programs: readonly string[]): boolean {
    const { scheduleStore, clock } = this.#world
    const { program } = dueOf(log.ticket)
    const isLeased = log.leaseUntil !== null && log.leaseUntil > this.#now
    if (isLeased || log.dueAt === null || log.dueAt > (scheduleStore.clock?.time ?? clock)) return false
    return program === null || programs.includes(program)
  }

  putSnapshot(streamId: string, snapshot: StoredSnapshot, keep: number): Promise<void> {
    return this.#store.putSnapshot(streamId, snapshot, keep)
  }

  getSnapshot(streamId: string, atMost: number): Promise<StoredSnapshot | undefined> {
    return this.#store.getSnapshot(streamId, atMost)
  }

  putBlob(streamId: string, hash: string, data: Uint8Array): Promise<void> {
    return this.#store.putBlob(streamId, hash, data)
  }

  getBlob(streamId: string, hash: string): Promise<Uint8Array | undefined> {
    return this.#store.getBlob(streamId, hash)
  }

  async trim(streamId: string, floor: number, ifVersion?: string): Promise<boolean> {
    const log = this.#log(streamId)
    // A last check before the removal.
    if (log) await log.verify(this.#store)
    const isTrimmed = await this.#store.trim(streamId, floor, ifVersion)
    const expected = log !== undefined && (ifVersion === undefined || ifVersion === log.version)
    this.#world.check(
      isTrimmed === expected,
      'law 12',
      () => `trim of ${streamId}: expected ${expected}, was ${isTrimmed}`,
    )
    if (isTrimmed && log?.trim(Math.min(floor, log.head))) this.#world.wake(streamId)
    return isTrimmed
  }

  async fork(source: string, at: number, target: string, fork: Fork): Promise<ForkResult> {
    const result = await this.#store.fork(source, at, target, fork)
    const from = this.#log(source)
    const isOutOfRange = from !== undefined && (at > from.head || at < from.floor)
    const expected = !from ? 'absent' : this.#log(target) ? 'exists' : isOutOfRange ? 'out-of-range' : 'forked'
    this.#world.check(result === expected, 'fork', () => `of ${source} at ${at}: expected ${expected}, was ${result}`)
    if (result === 'forked' && from) await this.#recordFork(from, at, target, fork)
    return result
  }

  /** Records a fork: the entries of its source up to the position, and the closing batch. */
  async #recordFork(from: LogRecord, at: number, target: string, { ticket, closing }: Fork): Promise<void> {
    const log = new LogRecord(this.#world, target)
    this.#world.logs.set(target, log)
    await this.#recordIncarnation(log)
    log.floor = from.floor
    for (const batch of from.batches.filter(({ first }) => first <= at)) {
      const last = Math.min(batch.last, at)
      log.push({ ...batch, last, entries: batch.entries.filter(({ sequence }) => sequence <= at) })
      log.laws.copy(batch.entries.filter(({ sequence }) => sequence <= at))
    }
    for (const [key, range] of from.keys) if (range.first <= at) log.keys.set(key, range)
    const page = await this.#store.read(target, { sequence: at }, { batches: 1, bytes: 1 })
    const timestamp = page?.batches[0]?.timestamp ?? page?.clock ?? 0
    if (closing) {
      const { batch, nonce } = closing
      const stored = { first: at + 1, last: at + batch.count, timestamp, mark: nonce, body: batch.body }
      const entries = decodeBatch(stored)
      log.push({ ...stored, entries })
      log.laws.copy(entries)
    }
    log.move(ticketOf(ticket.state), page?.createdAt ?? 0)
    log.laws.checkFork()
    await log.verify(this.#store)
  }

  list(principal: string | null, limit: number, after?: string): Promise<ListPage> {
    return this.#store.list(principal, limit, after)
  }

  listOldest(limit: number, after?: string): Promise<OldestPage> {
    return this.#store.listOldest(limit, after)
  }

  async remove(streamId: string, ifVersion?: string): Promise<boolean> {
    const log = this.#log(streamId)
    if (log) await log.verify(this.#store)
    const wasRemoved = await this.#store.remove(streamId, ifVersion)
    const expected = log !== undefined && (ifVersion === undefined || ifVersion === log.version)
    this.#world.check(
      wasRemoved === expected,
      'law 5',
      () => `remove of ${streamId}: expected ${expected}, was ${wasRemoved}`,
    )
    if (!wasRemoved || !log) return wasRemoved
    this.#world.logs.delete(streamId)
    this.#world.removed.push(log)
    this.#world.wake(streamId)
    return true
  }

  async restored(): Promise<number> {
    const count = await this.#store.restored()
    const { logs } = this.#world
    this.#world.check(count === logs.size, 'law 2', () => `restored: expected ${logs.size} logs, was ${count}`)
    for (const log of logs.values()) {
      await this.#recordIncarnation(log)
      this.#world.wake(log.streamId)
    }
    return count
  }

  async close(): Promise<void> {}
}

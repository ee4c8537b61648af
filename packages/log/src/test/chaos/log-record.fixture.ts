// The expected state of a log, beside the store. Each answer of the store is compared with the answers that the laws allow.

import type { Entry } from '@millrace/protocol'
import { decodeBatch } from '../../store/entry.ts'
import type {
  AppendResult,
  Batch,
  GuestAppend,
  LogStore,
  StoredBatch,
  TicketMove,
  WriterAppend,
} from '../../store/log-store.ts'
import { versionOf } from '../../store/names.ts'
import { advance, dueOf, EMPTY_TICKET, recordOf, type Ticket } from '../../ticket/ticket.ts'
import { Laws } from './laws.fixture.ts'
import { excerptOf, same, type World } from './schedule-world.fixture.ts'

export interface RecordedBatch extends StoredBatch {
  readonly entries: readonly Entry[]
}

/** The expected content of a log that is read whole. */
const ALL = { batches: 1_000_000, bytes: 2 ** 30 }

export class LogRecord {
  readonly world: World
  readonly streamId: string
  readonly laws: Laws
  readonly batches: RecordedBatch[] = []
  /** All entries that this log ever had, including trimmed ones. */
  readonly entries: Entry[] = []
  /** The texts of the log, with their positions. */
  readonly tokens = new Map<string, number>()
  readonly keys = new Map<string, { first: number; last: number; keep: boolean }>()
  /** All incarnations of this log. */
  readonly incarnations: string[] = []
  ticket: Ticket = EMPTY_TICKET
  version = ''
  head = 0
  floor = 0
  mark = '0'
  /** When it is due by the clock of the store. Null means never. */
  dueAt: number | null = null
  epoch: string | null = null
  latest: { counter: number; first: number; last: number; body: string } | undefined
  /** When the lease expires: by the clock of the store if it is virtual, otherwise by the clock of the processes. */
  leaseUntil: number | null = null
  /** The same by the steady clock of the store. */
  steadyLeaseUntil = 0

  constructor(world: World, streamId: string) {
    this.world = world
    this.streamId = streamId
    this.laws = new Laws(this)
  }

  get incarnation(): string {
    return this.incarnations.at(-1) as string
  }

  /** Whether a reader's position and everything after it are in this log. */
  holds(cursor: { sequence: number; incarnation?: string | undefined; epoch?: string | undefined }): boolean {
    const { sequence, incarnation, epoch } = cursor
    if (incarnation !== undefined && incarnation !== this.incarnation) return false
    if (sequence > this.head || sequence < this.floor) return false
    return epoch === undefined || epoch === this.markAt(sequence)
  }

  markAt(sequence: number): string {
    return this.batches.find(({ last }) => last >= sequence && sequence > 0)?.mark ?? '0'
  }

  /** The expected result of an append, with sequences if it succeeds. */
  expectedResult(
    batch: Batch,
    by: WriterAppend | GuestAppend,
    move: TicketMove | undefined,
  ): [outcome: AppendResult['outcome'], first: number, last: number] {
    if ('epoch' in by) {
      if (by.epoch !== this.epoch || by.counter < (this.latest?.counter ?? 0)) return ['fenced', 0, 0]
      if (by.counter === this.latest?.counter) return ['duplicate', this.latest.first, this.latest.last]
      const { sequence, incarnation, epoch } = by.lastAcked
      const isHeld = sequence <= this.head && (sequence < this.floor || epoch === this.markAt(sequence))
      if (incarnation !== this.incarnation || !isHeld) return ['regressed', 0, 0]
    } else {
      const earlier = this.keys.get(by.key)
      if (earlier) return ['duplicate', earlier.first, earlier.last]
    }
    if (move && move.ifVersion !== this.version) return ['moved', 0, 0]
    return ['appended', this.head + 1, this.head + batch.count]
  }

  /** Compares the result of an append with the laws, and records it. */
  append(batch: Batch, by: WriterAppend | GuestAppend, move: TicketMove | undefined, result: AppendResult): void {
    const { world, streamId } = this
    const [outcome, first, last] = this.expectedResult(batch, by, move)
    const actualResult = 'first' in result ? [result.outcome, result.first, result.last] : [result.outcome, 0, 0]
    const isWriter = 'epoch' in by
    const law = outcome === 'fenced' ? 'law 4' : outcome === 'appended' ? 'law 1' : 'law 5'
    world.check(same(actualResult, [outcome, first, last]), law, () => {
      const author = isWriter ? `writer ${by.epoch}#${by.counter}` : `guest ${by.key}`
      return `append of ${author} to ${streamId}: expected ${outcome} ${first}-${last}, found ${excerptOf(result)}`
    })
    if (result.outcome === 'duplicate' && isWriter) {
      world.check(this.latest?.body === batch.body, 'law 5', () => `a repeat with another body in ${streamId}`)
    }
    if (result.outcome !== 'appended') return
    const mark = isWriter ? by.epoch : by.nonce
    const stored = { first: result.first, last: result.last, timestamp: result.clock, mark, body: batch.body }
    if (isWriter) {
      this.latest = { counter: by.counter, first: result.first, last: result.last, body: batch.body }
    } else this.keys.set(by.key, { first: result.first, last: result.last, keep: by.keep })
    this.#record(stored, isWriter ? 'writer' : 'guest', move)
  }

  #record(stored: StoredBatch, by: 'writer' | 'guest', move: TicketMove | undefined): void {
    const { world, streamId, ticket } = this
    const entries = decodeBatch(stored)
    const next = advance(ticket, entries)
    const moved = move ? move.next : undefined
    world.check(moved ? true : next === ticket, 'law 5', () => {
      return `${entries.map(({ chunk }) => chunk.type)} changes the ticket of ${streamId}, but was appended without a ticket move`
    })
    if (moved) {
      const rebuilt = recordOf(next)
      world.check(same(rebuilt, moved), 'law 5', () => {
        return `the ticket of ${streamId} does not follow from its entries: ${excerptOf(moved)}, rebuilt ${excerptOf(rebuilt)}`
      })
    }
    this.laws.checkBatch(entries, by, ticket, stored.mark)
    this.push({ ...stored, entries })
    if (moved) this.move(next, stored.timestamp)
  }

  push(batch: RecordedBatch): void {
    this.batches.push(batch)
    this.entries.push(...batch.entries)
    for (const { chunk, sequence } of batch.entries) {
      for (const token of JSON.stringify(chunk).match(/~\d+ /g) ?? []) {
        this.world.check(!this.tokens.has(token), 'law 5', () => `${token} is in the log twice: ${this.streamId}`)
        this.tokens.set(token, sequence)
      }
    }
    this.head = batch.last
    this.mark = batch.mark
  }

  /** Sets the ticket, with a version from the head. */
  move(next: Ticket, clock: number): void {
    this.ticket = next
    this.version = versionOf(this.head, this.incarnation, this.mark)
    const { at } = dueOf(next)
    this.dueAt = at === 'now' ? clock : at
  }

  /** Records a trim. Returns false if the entries were trimmed before. */
  trim(floor: number): boolean {
    if (floor <= this.floor) return false
    this.laws.checkTrim(floor)
    this.floor = floor
    this.version = `${versionOf(this.head, this.incarnation, this.mark)}~${floor}`
    for (const [key, { last, keep }] of this.keys) if (last <= floor && !keep) this.keys.delete(key)
    return true
  }

  /** Compares the whole stored log with the record. */
  async verify(store: LogStore): Promise<void> {
    const { world, streamId, floor } = this
    const page = await store.read(streamId, { sequence: floor }, ALL)
    if (page === undefined) {
      world.violate('law 3', `the log ${streamId} is gone`)
      return
    }
    const state = [page.head, page.floor, page.incarnation, page.mark, page.version, page.truncated]
    const expectedFields = [this.head, floor, this.incarnation, this.mark, this.version, null]
    world.check(
      same(state, expectedFields),
      'law 1',
      () => `the head of ${streamId}: expected ${excerptOf(expectedFields)}, is ${excerptOf(state)}`,
    )
    const isSame = page.ticket === '' ? this.ticket === EMPTY_TICKET : page.ticket === JSON.stringify(this.ticket)
    world.check(isSame, 'law 5', () => {
      return `the ticket of ${streamId} is ${page.ticket}, rebuilt ${JSON.stringify(this.ticket)}`
    })
    this.#compare(page.batches)
  }

  #compare(batches: readonly StoredBatch[]): void {
    const { world, streamId, floor } = this
    const remaining = this.batches.filter(({ last }) => last > floor)
    let time = 0
    for (let i = 0; i < Math.max(remaining.length, batches.length); i++) {
      const [expectedBatch, found] = [remaining[i], batches[i]]
      const isSame =
        expectedBatch &&
        found &&
        same([expectedBatch.first, expectedBatch.last, expectedBatch.mark], [found.first, found.last, found.mark]) &&
        same(decodeBatch(found), expectedBatch.entries)
      world.check(
        isSame === true,
        'law 1',
        () => `${streamId} has ${excerptOf(found)} instead of ${excerptOf(expectedBatch)}`,
      )
      const { timestamp } = found ?? { timestamp: 0 }
      world.check(timestamp >= time, 'law 1', () => `the time decreases at ${found?.first} of ${streamId}`)
      time = timestamp
    }
  }
}

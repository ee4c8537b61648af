// The checks of an append have a fixed order. Each case sends all appends in which several things are wrong, expects the outcome of
// the first check, and then verifies the state of the log.

import type { AppendResult, Batch, GuestAppend, LogStore, Page, TicketMove, WriterAppend } from '../store/log-store.ts'
import { assertEqual, assertTrue, describeAppend } from './assert.ts'
import { type ContractCase, define } from './contract-case.ts'
import type { Trial } from './trial.ts'
import { batch, batchOf, type ContractWriter, guest, move } from './writer.ts'

interface WriterFaults {
  readonly epoch: 'own' | 'another'
  readonly counter: 'next' | 'known' | 'older'
  readonly lastAcked: 'held' | 'lost'
  readonly ticket: 'none' | 'right' | 'wrong'
  readonly size: 'fits' | 'too-large'
}

interface GuestFaults {
  readonly key: 'new' | 'known'
  readonly ticket: WriterFaults['ticket']
  readonly size: WriterFaults['size']
}

const TICKETS = ['none', 'right', 'wrong'] as const
const SIZES = ['fits', 'too-large'] as const

const writers: readonly WriterFaults[] = (['own', 'another'] as const).flatMap(epoch =>
  (['next', 'known', 'older'] as const).flatMap(counter =>
    (['held', 'lost'] as const).flatMap(lastAcked =>
      TICKETS.flatMap(ticket => SIZES.map(size => ({ epoch, counter, lastAcked, ticket, size }))),
    ),
  ),
)
const guests: readonly GuestFaults[] = (['new', 'known'] as const).flatMap(key =>
  TICKETS.flatMap(ticket => SIZES.map(size => ({ key, ticket, size }))),
)

/** Laws 4, 5 and 6: the order of the checks of an append. A refused append changes nothing. */
export const outcomes: readonly ContractCase[] = [
  define(4, 'a writer of another epoch is fenced, before all other checks', trial =>
    tryWriters(trial, 'fenced', ({ epoch }) => epoch === 'another'),
  ),
  define(4, "an append older than the writer's last is fenced, before all later checks", trial =>
    tryWriters(trial, 'fenced', ({ epoch, counter }) => epoch === 'own' && counter === 'older'),
  ),
  define(
    5,
    "a writer's last append sent again is a duplicate with its first sequences, before all later checks",
    trial => tryWriters(trial, 'duplicate 4..5', ({ epoch, counter }) => epoch === 'own' && counter === 'known'),
  ),
  define(4, 'a writer without its last acknowledged entry has regressed, before the version and the size', trial =>
    tryWriters(trial, 'regressed', faults => isNext(faults) && faults.lastAcked === 'lost'),
  ),
  define(5, "a writer's append on another version is refused as moved, before the size", trial =>
    tryWriters(trial, 'moved', faults => isHeld(faults) && faults.ticket === 'wrong'),
  ),
  define(6, "a writer's append of which only the size is wrong is too large", trial =>
    tryWriters(
      trial,
      'too-large',
      faults => isHeld(faults) && faults.ticket !== 'wrong' && faults.size === 'too-large',
    ),
  ),
  define(5, 'a valid append of a writer is appended, and moves the ticket if requested', trial =>
    tryWriters(trial, 'appended 6..6', faults => isHeld(faults) && faults.ticket !== 'wrong' && faults.size === 'fits'),
  ),
  define(5, "a guest's key is checked before the version and the size", trial =>
    tryGuests(trial, 'duplicate 2..3', ({ key }) => key === 'known'),
  ),
  define(5, "a guest's append on another version is refused as moved, before the size", trial =>
    tryGuests(trial, 'moved', ({ key, ticket }) => key === 'new' && ticket === 'wrong'),
  ),
  define(6, "a guest's append of which only the size is wrong is too large", trial =>
    tryGuests(
      trial,
      'too-large',
      ({ key, ticket, size }) => key === 'new' && ticket !== 'wrong' && size === 'too-large',
    ),
  ),
  define(5, 'a valid append of a guest is appended, and moves the ticket if requested', trial =>
    tryGuests(
      trial,
      'appended 6..6',
      ({ key, ticket, size }) => key === 'new' && ticket !== 'wrong' && size === 'fits',
    ),
  ),
]

const isNext = ({ epoch, counter }: WriterFaults): boolean => epoch === 'own' && counter === 'next'
const isHeld = (faults: WriterFaults): boolean => isNext(faults) && faults.lastAcked === 'held'

async function tryWriters(trial: Trial, outcome: string, which: (faults: WriterFaults) => boolean): Promise<void> {
  const store = await trial.open()
  const large = batchOf(store.maxBatchBytes + 1)
  for (const [i, faults] of writers.filter(which).entries()) {
    const setup = await setUp(trial, store, `log-${i}`)
    const { writer, before } = setup
    const counter = writer.counter + { next: 1, known: 0, older: -1 }[faults.counter]
    const { lastAcked } = writer
    const by: WriterAppend = {
      epoch: faults.epoch === 'own' ? writer.epoch : 'another',
      counter,
      lastAcked: faults.lastAcked === 'held' ? lastAcked : { ...lastAcked, sequence: before.head + 1 },
    }
    const added = faults.size === 'fits' ? batch('new') : large
    await tryAppend(trial, setup, outcome, faults, added, by)
  }
}

async function tryGuests(trial: Trial, outcome: string, which: (faults: GuestFaults) => boolean): Promise<void> {
  const store = await trial.open()
  const large = batchOf(store.maxBatchBytes + 1)
  for (const [i, faults] of guests.filter(which).entries()) {
    const setup = await setUp(trial, store, `log-${i}`)
    const added = faults.size === 'fits' ? batch('new') : large
    await tryAppend(trial, setup, outcome, faults, added, guest(faults.key === 'known' ? 'known' : 'new'))
  }
}

interface Setup {
  readonly store: LogStore
  readonly streamId: string
  readonly writer: ContractWriter
  readonly before: Page
}

/** A log with 1 and 4..5 by its writer and 2..3 by a guest. The ticket moved with 1. */
async function setUp(trial: Trial, store: LogStore, label: string): Promise<Setup> {
  const streamId = await trial.log(store, label)
  const writer = await trial.writer(store, streamId)
  const { version } = await trial.head(store, streamId)
  assertEqual(
    describeAppend(await writer.append(batch('a'), move(version, 'old'))),
    'appended 1..1',
    'the first append',
  )
  assertEqual(
    describeAppend(await store.append(streamId, batch('b', 'c'), guest('known'))),
    'appended 2..3',
    "a guest's append",
  )
  assertEqual(describeAppend(await writer.append(batch('d', 'e'))), 'appended 4..5', "the writer's last append")
  return { store, streamId, writer, before: await trial.page(store, streamId) }
}

async function tryAppend(
  trial: Trial,
  setup: Setup,
  outcome: string,
  faults: WriterFaults | GuestFaults,
  added: Batch,
  by: WriterAppend | GuestAppend,
): Promise<void> {
  const { store, streamId, before } = setup
  const faultText = JSON.stringify(faults)
  const version = faults.ticket === 'right' ? before.version : `1.${before.incarnation}.another`
  const ticket = faults.ticket === 'none' ? undefined : move(version, 'next')
  const result = await store.append(streamId, added, by, ticket)
  assertEqual(describeAppend(result), outcome, `an append with ${faultText}`)
  const after = await trial.page(store, streamId)
  if (result.outcome === 'appended') wasAppended(before, after, ticket, by, faultText)
  else if (result.outcome === 'regressed') await hasRegressed(setup, after, faultText)
  else {
    assertEqual({ ...after, clock: 0 }, { ...before, clock: 0 }, `the log after an append with ${faultText}`)
    await expectUnchanged(setup, result, added, by, faultText)
  }
}

function wasAppended(
  before: Page,
  after: Page,
  ticket: TicketMove | undefined,
  by: WriterAppend | GuestAppend,
  faultText: string,
): void {
  const mark = 'epoch' in by ? by.epoch : by.nonce
  const moved = { ticket: 'next', version: `6.${before.incarnation}.${mark}` }
  const expected = ticket === undefined ? { ticket: before.ticket, version: before.version } : moved
  assertEqual(
    { ticket: after.ticket, version: after.version },
    expected,
    `the ticket after an append with ${faultText}`,
  )
  assertEqual([after.head, after.mark], [6, mark], `the head after an append with ${faultText}`)
  assertEqual(after.batches.slice(0, -1), before.batches, 'the batches before the append')
}

/** Expects that a regressed log has its entries under a new incarnation, and that its writer is fenced. */
async function hasRegressed({ store, streamId, writer, before }: Setup, after: Page, faultText: string): Promise<void> {
  assertTrue(after.incarnation !== before.incarnation, `a new incarnation after an append with ${faultText}`)
  const kept = ({ head, mark, floor, version, ticket, batches }: Page) => ({
    head,
    mark,
    floor,
    version,
    ticket,
    batches,
  })
  assertEqual(kept(after), kept(before), `the log without its incarnation after an append with ${faultText}`)
  const again = { ...writer.by, lastAcked: { ...writer.lastAcked, incarnation: after.incarnation } }
  assertEqual(
    describeAppend(await store.append(streamId, batch('x'), again)),
    'fenced',
    'the next append of a writer that has regressed',
  )
}

/** Expects that a refused append changed nothing: the corrected append succeeds. */
async function expectUnchanged(
  { store, streamId, writer, before }: Setup,
  { outcome }: AppendResult,
  added: Batch,
  by: WriterAppend | GuestAppend,
  faultText: string,
): Promise<void> {
  const repaired = outcome === 'too-large' || outcome === 'moved' ? by : writer.by
  const next = await store.append(streamId, batch('right'), repaired, move(before.version, 'right'))
  assertEqual(
    describeAppend(next),
    'appended 6..6',
    `a valid append after one of ${added.body.length} bytes with ${faultText}`,
  )
}

import type { LogStore, Page } from '../store/log-store.ts'
import { assertEqual, assertionError, assertTrue, describeAppend, formatRange } from './assert.ts'
import { type ContractCase, define } from './contract-case.ts'
import { batch, batchOfChunks, guest, move, textsOf } from './writer.ts'

/** Chunks that move the ticket and are never appended on an old version. */
const DECISIONS = [
  'run-started',
  'run-paused',
  'run-finished',
  'step-discarded',
  'stop-requested',
  'executor-superseded',
  'session-info',
]

/** Laws 3, 5 and 7: the ticket moves atomically with its entries, on the version it was decided on. */
export const tickets: readonly ContractCase[] = [
  define(5, "a ticket's version is the cursor of the last entry of the append that moved it", async trial => {
    const store = await trial.open()
    const streamId = await trial.log(store)
    const { incarnation } = await trial.head(store, streamId)
    const writer = await trial.writer(store, streamId)
    const assertTicket = async (version: string, ticket: string, label: string) => {
      const page = await trial.head(store, streamId)
      assertEqual({ version: page.version, ticket: page.ticket }, { version, ticket }, `the ticket after ${label}`)
    }
    await assertTicket(`0.${incarnation}.0`, '', 'a claim')
    await writer.append(batch('a'))
    await assertTicket(`0.${incarnation}.0`, '', 'an append that does not move it')
    await writer.append(batch('b', 'c'), move(`0.${incarnation}.0`, 'one'))
    await assertTicket(`3.${incarnation}.${writer.epoch}`, 'one', "a writer's move")
    await store.append(streamId, batch('d'), guest())
    await assertTicket(`3.${incarnation}.${writer.epoch}`, 'one', "a guest's append that does not move it")
    const by = guest()
    await store.append(streamId, batch('e', 'f'), by, move(`3.${incarnation}.${writer.epoch}`, ''))
    await assertTicket(`6.${incarnation}.${by.nonce}`, '', "a guest's append that moves the ticket to an empty text")
    await store.trim(streamId, 6)
    await assertTicket(`6.${incarnation}.${by.nonce}~6`, '', 'a trim')
  }),

  define(5, 'touchedAt is the time at which the ticket last moved', async trial => {
    const store = await trial.open()
    const streamId = await trial.log(store)
    const created = await trial.head(store, streamId)
    await trial.tick(store, streamId)
    const writer = await trial.writer(store, streamId)
    await writer.append(batch('a'))
    await store.append(streamId, batch('b'), guest())
    assertEqual(
      (await trial.head(store, streamId)).touchedAt,
      created.touchedAt,
      'touchedAt after appends that leave the ticket',
    )
    const before = (await trial.head(store, streamId)).clock
    await writer.append(batch('c'), move(created.version, 's'))
    const { touchedAt, createdAt, clock } = await trial.head(store, streamId)
    assertTrue(
      before <= touchedAt && touchedAt <= clock,
      'touchedAt is between the clocks before and after the ticket changed',
      [before, touchedAt, clock],
    )
    assertEqual(createdAt, created.createdAt, 'createdAt')
  }),

  define(5, 'an append on any version but the current one is refused as moved', async trial => {
    const store = await trial.open()
    const streamId = await trial.log(store)
    const { version: first, incarnation } = await trial.head(store, streamId)
    await store.append(streamId, batch('a'), guest(), move(first, 'one'))
    const { version: second } = await trial.head(store, streamId)
    await store.append(streamId, batch('b'), guest(), move(second, 'two'))
    const before = await trial.page(store, streamId)
    const mark = before.version.split('.')[2]
    const others = [first, second, '', '2', `2.${incarnation}`, `2.another.${mark}`, `2.${incarnation}.another`]
    const wrong = [...others, `3.${incarnation}.${mark}`, `${before.version}x`, ` ${before.version}`]
    for (const version of wrong) {
      assertEqual(
        describeAppend(await store.append(streamId, batch('x'), guest(), move(version, 'x'))),
        'moved',
        `an append on the version '${version}'`,
      )
    }
    assertEqual(
      { ...(await trial.page(store, streamId)), clock: 0 },
      { ...before, clock: 0 },
      'the log after all refused appends',
    )
  }),

  ...DECISIONS.map(type =>
    define(5, `a ${type} on an old version is refused as moved, for writers and guests`, async trial => {
      const store = await trial.open()
      const streamId = await trial.log(store)
      const { version } = await trial.head(store, streamId)
      const writer = await trial.writer(store, streamId)
      await writer.append(batch('a'), move(version, 'one'))
      const before = await trial.page(store, streamId)
      const added = batchOfChunks({ type })
      assertEqual(describeAppend(await writer.append(added, move(version, 'two'))), 'moved', `a writer's ${type}`)
      assertEqual(
        describeAppend(await store.append(streamId, added, guest(), move(version, 'two'))),
        'moved',
        `a guest's ${type}`,
      )
      assertEqual(
        { ...(await trial.page(store, streamId)), clock: 0 },
        { ...before, clock: 0 },
        'the log after the refused appends',
      )
      assertEqual(
        describeAppend(await writer.append(added, move(before.version, 'two'))),
        'appended 2..2',
        'an append on the current version',
      )
    }),
  ),

  define(5, 'one of several concurrent appends on one version moves the ticket', async trial => {
    const handles = await trial.opened(4)
    const [store] = handles as [LogStore]
    const streamId = await trial.log(store)
    for (let round = 1; round <= 6; round++) {
      const { version } = await trial.head(store, streamId)
      const tries = handles.map((each, i) => {
        const ticket = move(version, `${round}-${i}`)
        return each.append(streamId, batch(`${round}-${i}`), guest(), ticket)
      })
      const results = (await Promise.all(tries)).map(describeAppend)
      const winner = results.indexOf(`appended ${round}..${round}`)
      const expected = handles.map((_, i) => (i === winner ? `appended ${round}..${round}` : 'moved'))
      assertEqual(results, expected, 'the appends on one version')
      const { ticket, batches } = await trial.page(store, streamId, { sequence: round - 1 })
      assertEqual(
        [ticket, batches.map(({ body }) => textsOf(body))],
        [`${round}-${winner}`, [[ticket]]],
        'the ticket and batch of the append that won',
      )
    }
  }),

  define(5, 'concurrent ticket moves lose no decision', async trial => {
    const handles = await trial.opened(3)
    const [store] = handles as [LogStore]
    const streamId = await trial.log(store)
    const add = async (each: LogStore, name: string) => {
      for (let tries = 0; tries < 1000; tries++) {
        const { ticket, version } = await trial.head(each, streamId)
        const state = ticket === '' ? name : `${ticket} ${name}`
        if ((await each.append(streamId, batch(name), guest(), move(version, state))).outcome === 'appended') return
      }
      throw assertionError(
        'an append on the version just read: expected appended, found moved a thousand times: check that reads return the current version',
      )
    }
    const names = (i: number) => Array.from({ length: 6 }, (_, n) => `${i}-${n}`)
    await Promise.all(
      handles.map(async (each, i) => {
        for (const name of names(i)) await add(each, name)
      }),
    )
    const { ticket, batches } = await trial.page(store, streamId)
    assertEqual(ticket.split(' ').sort(), handles.flatMap((_, i) => names(i)).sort(), 'the names in the ticket')
    assertEqual(
      batches.flatMap(({ body }) => textsOf(body)).join(' '),
      ticket,
      'the entries, in the order of the ticket',
    )
  }),

  define(5, 'no read returns the ticket without the entries that moved it', async trial => {
    const [reader, ...others] = (await trial.opened(3)) as [LogStore, ...LogStore[]]
    const streamId = await trial.log(reader)
    let writing = true
    const work = Promise.all(
      others.map(async (each, i) => {
        for (let n = 0; n < 12; n++) {
          const { version } = await trial.head(each, streamId)
          await each.append(streamId, batch(`${i}-${n}`, 'tail'), guest(), move(version, `${i}-${n}`))
        }
      }),
    ).finally(() => {
      writing = false
    })
    const readWhileWriting = async () => {
      while (writing) assertTicketMatches(await trial.page(reader, streamId))
    }
    await Promise.all([work, readWhileWriting()])
    assertTicketMatches(await trial.page(reader, streamId))
  }),

  define(7, 'one of several concurrent ends of a run is appended', async trial => {
    const handles = await trial.opened(4)
    const [store] = handles as [LogStore]
    const streamId = await trial.log(store)
    const writer = await trial.writer(store, streamId)
    await writer.append(batchOfChunks({ type: 'run-started', runId: 'r' }))
    const { version } = await trial.head(store, streamId)
    const end = batchOfChunks({ type: 'run-finished', runId: 'r', status: 'completed' })
    const results = await Promise.all([
      writer.append(end, move(version, 'ended')),
      ...handles.slice(1).map(each => each.append(streamId, end, guest(), move(version, 'ended'))),
    ])
    assertEqual(results.map(describeAppend).sort(), ['appended 2..2', 'moved', 'moved', 'moved'], 'the ends')
    assertEqual((await trial.page(store, streamId)).batches.length, 2, 'the batches of the log')
  }),

  define(3, 'a discard, a rewind or an end changes no earlier batch', async trial => {
    const store = await trial.open()
    const streamId = await trial.log(store)
    const writer = await trial.writer(store, streamId)
    const delta = { type: 'text-delta', id: 't', delta: 'words' }
    await writer.append(batchOfChunks({ type: 'run-started', runId: 'r' }, delta))
    await store.append(streamId, batchOfChunks({ type: 'interrupt-response', id: 'i' }), guest('answer'))
    await writer.append(batchOfChunks(delta, { type: 'tool-output-available', toolCallId: 'c', output: 1 }))
    let { batches, version } = await trial.page(store, streamId)
    const cuts = [
      { type: 'step-discarded', lane: 'main', step: 1 },
      { type: 'run-finished', runId: 'r', status: 'interrupted' },
      { type: 'rewind', toSequence: 1, reason: 'edit' },
      { type: 'executor-superseded' },
    ]
    for (const cut of cuts) {
      await writer.append(batchOfChunks(cut), move(version, cut.type))
      const page = await trial.page(store, streamId)
      assertEqual(page.batches.slice(0, -1), batches, `the batches before a ${cut.type}`)
      assertEqual(
        page.batches.map(formatRange).join(' '),
        [...batches.map(formatRange), formatRange(page.batches.at(-1))].join(' '),
        'places',
      )
      assertEqual(formatRange(await store.find(streamId, 'answer')), '3..3', `a guest's key after a ${cut.type}`)
      ;({ batches, version } = page)
    }
    assertEqual(batches.length, 7, 'the batches of the log')
  }),
]

function assertTicketMatches({ ticket, version, batches }: Page): void {
  const sequence = Number.parseInt(version, 10)
  const moved = batches.find(({ last }) => last === sequence)
  const text = moved === undefined ? '' : textsOf(moved.body)[0]
  assertEqual(text, ticket, `the entry at ${version} and the ticket that it moved`)
  assertEqual(version.split('.')[2], moved?.mark ?? '0', 'the mark in the version')
}

import type { Listed, LogStore } from '../store/log-store.ts'
import { assertEqual, assertionError, assertTrue, codeOf } from './assert.ts'
import { type ContractCase, define } from './contract-case.ts'
import type { Trial } from './trial.ts'
import { batch, batchOfChunks, guest, move } from './writer.ts'

/** The interface: the logs of a principal, in pages. */
export const listing: readonly ContractCase[] = [
  define('interface', 'list: a row has the head, ticket and times of its log', async trial => {
    const store = await trial.open()
    const principal = trial.name('ann')
    const streamId = await trial.log(store, 'log', principal)
    const { version } = await trial.head(store, streamId)
    await store.append(streamId, batch('a', 'b'), guest(), move(version, 'the ticket'))
    await store.append(streamId, batch('c'), guest())
    const { head, ticket, createdAt, touchedAt } = await trial.head(store, streamId)
    const expected = { streams: [{ streamId, head, ticket, createdAt, touchedAt }], next: null }
    assertEqual(await store.list(principal, 10), expected, 'the list')
    assertEqual([head, ticket], [3, 'the ticket'], 'the log')
  }),

  define('interface', 'list: a row has the current ticket, whatever its size', async trial => {
    const store = await trial.open()
    const principal = trial.name('ann')
    const streamId = await trial.log(store, 'log', principal)
    const shown = async () => (await store.list(principal, 10)).streams.map(({ ticket }) => ticket)
    for (const title of ['A walk', '語'.repeat(200), '\u0000 \ud83d "quoted" \\ \u2028 \'; --']) {
      const { version } = await trial.head(store, streamId)
      const about = { title, metadata: { notes: 'é'.repeat(2000), deep: [[[[]]]] } }
      const state = JSON.stringify({ about, line: `${'a line '.repeat(22)}🙂` })
      await store.append(streamId, batchOfChunks({ type: 'session-info', ...about }), guest(), move(version, state))
      assertEqual(await shown(), [state], 'the tickets of the list')
      assertEqual((await trial.head(store, streamId)).ticket, state, 'the ticket of the log')
    }
  }),

  define('interface', 'list: last touched first; an append without a ticket move does not touch', async trial => {
    const store = await trial.open()
    const principal = trial.name('ann')
    const ids: string[] = []
    for (const label of ['a', 'b', 'c', 'd']) {
      ids.push(await trial.log(store, label, principal))
      await trial.tick(store, ids[0] as string)
    }
    const [a, b, c, d] = ids as [string, string, string, string]
    assertEqual(await idsOf(store, principal), [d, c, b, a], 'the logs, newest first')
    await touch(trial, store, b)
    await trial.tick(store, b)
    await store.append(a, batch('x'), guest())
    await store.claim(c, 'me', 1000, false)
    assertEqual(await idsOf(store, principal), [b, d, c, a], 'the list after one log was touched')
    await touch(trial, store, a)
    assertEqual(await idsOf(store, principal), [a, b, d, c], 'the list after another log was touched')
  }),

  define('interface', 'list: pages of any size return every log once, also with equal times', async trial => {
    const store = await trial.open()
    const principal = trial.name('ann')
    const ids = await Promise.all(Array.from({ length: 13 }, (_, i) => trial.log(store, `log-${i}`, principal)))
    const whole = await linesOf(store, principal, 100)
    assertEqual(whole.map(({ streamId }) => streamId).sort(), [...ids].sort(), 'the logs of one page')
    const times = whole.map(({ touchedAt }) => touchedAt)
    assertEqual(
      times,
      [...times].sort((x, y) => y - x),
      'the times, latest first',
    )
    for (const size of [1, 2, 5, 12, 13, 14])
      assertEqual(await linesOf(store, principal, size), whole, `pages of ${size}`)
  }),

  define('interface', 'list: each principal, also null, has a separate list', async trial => {
    const store = await trial.open()
    const [ann, bob] = [trial.name('ann'), trial.name('bob')]
    const ofAnn = await trial.log(store, 'of-ann', ann)
    const ofBob = await trial.log(store, 'of-bob', bob)
    const withoutOwner = await trial.log(store, 'of-nobody')
    const ofEmpty = await trial.log(store, 'of-empty', '')
    const ofNull = await trial.log(store, 'of-null', 'null')
    assertEqual(await idsOf(store, ann), [ofAnn], 'the logs of one principal')
    assertEqual(await idsOf(store, bob), [ofBob], 'the logs of another principal')
    assertEqual(await idsOf(store, trial.name('nobody')), [], 'the logs of a principal without logs')
    const listAll = async (principal: string | null) =>
      (await idsOf(store, principal)).filter(id => [ofAnn, ofBob, withoutOwner, ofEmpty, ofNull].includes(id))
    assertEqual(await listAll(null), [withoutOwner], 'the logs without a principal')
    assertEqual(await listAll(''), [ofEmpty], 'the logs of the empty name')
    assertEqual(await listAll('null'), [ofNull], "the logs of the name 'null'")
    const target = trial.id('fork')
    const ticket = { state: '', due: { at: null, program: null } }
    await store.fork(ofAnn, 0, target, { principal: bob, ticket, closing: null })
    assertEqual(
      [await idsOf(store, ann), (await idsOf(store, bob)).sort()],
      [[ofAnn], [ofBob, target].sort()],
      'the lists after a fork',
    )
  }),

  define('interface', 'list: the next page continues when the last log was removed or touched', async trial => {
    const store = await trial.open()
    const principal = trial.name('ann')
    const ids: string[] = []
    for (let i = 0; i < 6; i++) {
      ids.unshift(await trial.log(store, `log-${i}`, principal))
      await trial.tick(store, ids[0] as string)
    }
    const first = await store.list(principal, 2)
    assertEqual(
      first.streams.map(({ streamId }) => streamId),
      ids.slice(0, 2),
      'the first page',
    )
    await store.remove(ids[1] as string)
    const second = await store.list(principal, 2, first.next ?? '')
    assertEqual(
      second.streams.map(({ streamId }) => streamId),
      ids.slice(2, 4),
      'the page after a log that was removed',
    )
    await touch(trial, store, ids[3] as string)
    const third = await store.list(principal, 9, second.next ?? '')
    assertEqual(
      third.streams.map(({ streamId }) => streamId),
      ids.slice(4),
      'the page after a log that was touched',
    )
    assertEqual(
      await idsOf(store, principal),
      [3, 0, 2, 4, 5].map(i => ids[i]),
      'the whole list',
    )
  }),

  define('interface', 'list: an invalid or foreign page token shows no logs of others', async trial => {
    const store = await trial.open()
    const [ann, bob] = [trial.name('ann'), trial.name('bob')]
    const annLogs = [await trial.log(store, 'a', ann), await trial.log(store, 'b', ann)]
    for (const label of ['c', 'd', 'e']) await trial.log(store, label, bob)
    const { next } = await store.list(bob, 1)
    const hostile = [
      '',
      ' ',
      'x',
      '0',
      '-1',
      '1e999',
      '[]',
      '{}',
      'null',
      '["a"]',
      "' OR 1=1 --",
      '%',
      '*',
      '\n',
      'é🙂',
    ]
    for (const token of [...hostile, next ?? '', `${next}x`, 'x'.repeat(5000)]) {
      const page = await store.list(ann, 10, token).catch(error => {
        if (codeOf(error) !== 'invalid')
          throw assertionError(
            `the token ${JSON.stringify(token)}: expected a page or the code 'invalid', found ${error}`,
          )
      })
      const foreignLogs = page?.streams.filter(({ streamId }) => !annLogs.includes(streamId)) ?? []
      assertEqual(foreignLogs, [], `the logs of other principals on the page of the token ${JSON.stringify(token)}`)
    }
    assertEqual((await idsOf(store, ann)).sort(), annLogs.sort(), 'the list after the invalid tokens')
  }),
]

/** All lines of a principal, read in pages of this size. */
async function linesOf(store: LogStore, principal: string | null, size: number): Promise<Listed[]> {
  const lines: Listed[] = []
  let after: string | undefined
  for (let pages = 0; pages < 10_000; pages++) {
    const { streams, next } = await store.list(principal, size, after)
    assertTrue(streams.length <= size, `a page has no more than ${size} logs`, streams.length)
    assertTrue(streams.length > 0 || next === null, 'an empty page is the last', next)
    lines.push(...streams)
    if (next === null) return lines
    after = next
  }
  throw assertionError(`expected a last page of the list, found none after ${lines.length} logs`)
}

const idsOf = async (store: LogStore, principal: string | null): Promise<string[]> =>
  (await linesOf(store, principal, 50)).map(({ streamId }) => streamId)

async function touch(trial: Trial, store: LogStore, streamId: string): Promise<void> {
  const { version } = await trial.head(store, streamId)
  const result = await store.append(streamId, batch('touch'), guest(), move(version, 'touched'))
  assertEqual(result.outcome, 'appended', 'an append that moves the ticket')
}

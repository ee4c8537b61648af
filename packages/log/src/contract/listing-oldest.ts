import type { LogStore, OldestLog } from '../store/log-store.ts'
import { assertEqual, assertionError, assertRejects, assertTrue } from './assert.ts'
import { type ContractCase, define } from './contract-case.ts'
import { LONG_MS, type Trial } from './trial.ts'
import { batch, guest, move } from './writer.ts'

/** The interface: the logs of all principals, least recently touched first, in pages. */
export const listingOldest: readonly ContractCase[] = [
  define('interface', 'listOldest: a row has the head, floor, ticket, times and lease of its log', async trial => {
    const store = await trial.open()
    const streamId = await trial.log(store, 'log', trial.name('ann'))
    const { version } = await trial.head(store, streamId)
    await store.append(streamId, batch('a', 'b'), guest(), move(version, 'the ticket'))
    await store.append(streamId, batch('c'), guest())
    await store.trim(streamId, 2)
    const row = async () => (await rowsOf(store)).find(each => each.streamId === streamId)
    const expected = async () => {
      const { head, floor, ticket, createdAt, touchedAt, lease } = await trial.head(store, streamId)
      return { streamId, head, floor, ticket, createdAt, touchedAt, lease }
    }
    assertEqual(await row(), await expected(), 'the row')
    const { head, floor, ticket } = (await row()) ?? {}
    assertEqual([head, floor, ticket], [3, 2, 'the ticket'], 'the row after a trim')
    await store.claim(streamId, 'me', LONG_MS, false)
    assertEqual(await row(), await expected(), 'the row of a claimed log')
    const { clock } = await trial.head(store, streamId)
    const page = await store.listOldest(1)
    assertTrue(page.clock >= clock && page.clock < clock + LONG_MS, 'the clock of the page is that of the store', page)
  }),

  define(
    'interface',
    'listOldest: lists the logs of all principals, least recently touched first; only a ticket move touches a log',
    async trial => {
      const store = await trial.open()
      const ids: string[] = []
      for (const [i, label] of ['a', 'b', 'c', 'd'].entries()) {
        ids.push(await trial.log(store, label, i % 2 === 0 ? null : trial.name(label)))
        await trial.tick(store, ids[0] as string)
      }
      const [a, b, c, d] = ids as [string, string, string, string]
      assertEqual(await idsOf(store, ids), [a, b, c, d], 'the logs in the order of their creation')
      await touch(trial, store, b)
      await trial.tick(store, b)
      await store.append(a, batch('x'), guest())
      await store.claim(c, 'me', 1000, false)
      assertEqual(await idsOf(store, ids), [a, c, d, b], 'the logs after one was touched')
      await touch(trial, store, a)
      assertEqual(await idsOf(store, ids), [c, d, b, a], 'the logs after another one was touched')
    },
  ),

  define(
    'interface',
    'listOldest: pages of any size return every log once, also with equal times',
    async trial => {
      const store = await trial.open()
      const ids = await Promise.all(Array.from({ length: 13 }, (_, i) => trial.log(store, `log-${i}`)))
      const whole = (await rowsOf(store, 1000)).filter(({ streamId }) => ids.includes(streamId))
      assertEqual(whole.map(({ streamId }) => streamId).sort(), [...ids].sort(), 'the logs')
      const times = whole.map(({ touchedAt }) => touchedAt)
      assertEqual(
        times,
        times.toSorted((x, y) => x - y),
        'the times, earliest first',
      )
      for (const size of [1, 2, 5, 12, 13, 14]) {
        const rows = (await rowsOf(store, size)).filter(({ streamId }) => ids.includes(streamId))
        assertEqual(rows, whole, `oldest pages of ${size}`)
      }
      assertEqual((await store.listOldest(0)).streams, [], 'a page of no logs')
    },
    // Other logs would make the pages of one log slow.
    { alone: true },
  ),

  define(
    'interface',
    'listOldest: the next page continues when logs of earlier and later pages were removed or touched',
    async trial => {
      const store = await trial.open()
      const ids: string[] = []
      for (let i = 0; i < 7; i++) {
        ids.push(await trial.log(store, `log-${i}`))
        await trial.tick(store, ids[0] as string)
      }
      const after = await tokenAfter(store, ids[2] as string)
      const rest = () => idsOf(store, ids, after)
      assertEqual(await rest(), ids.slice(3), 'the logs after the third')
      await store.remove(ids[2] as string)
      await store.remove(ids[0] as string)
      assertEqual(await rest(), ids.slice(3), 'the logs after one that was removed')
      await store.remove(ids[3] as string)
      assertEqual(await rest(), ids.slice(4), 'the logs after one of them was removed')
      await touch(trial, store, ids[4] as string)
      await trial.tick(store, ids[4] as string)
      await touch(trial, store, ids[1] as string)
      const expected = [5, 6, 4, 1].map(i => ids[i])
      assertEqual(await rest(), expected, 'the logs after a later and an earlier one were touched')
    },
  ),

  define('interface', 'listOldest: rejects a token that no page returned as invalid', async trial => {
    const store = await trial.open()
    for (const token of [
      '',
      ' ',
      'x',
      '[]',
      '{}',
      'null',
      '["a"]',
      "' OR 1=1 --",
      '%',
      '\n',
      'é🙂',
      'x'.repeat(5000),
    ]) {
      await assertRejects(store.listOldest(10, token), 'invalid', `the token ${JSON.stringify(token.slice(0, 20))}`)
    }
  }),
]

/** All rows after a position, read in pages of this size. */
async function rowsOf(store: LogStore, size = 50, from?: string): Promise<OldestLog[]> {
  const rows: OldestLog[] = []
  for (let pages = 0, after = from; pages < 10_000; pages++) {
    const { streams, next } = await store.listOldest(size, after)
    assertTrue(streams.length <= size, `a page has no more than ${size} logs`, streams.length)
    rows.push(...streams)
    if (next === null) return rows
    after = next
  }
  throw assertionError(`a list of ${rows.length} rows has no end`)
}

/** Those of the logs that are listed after a position, in order. Other cases may have logs, too. */
async function idsOf(store: LogStore, ids: readonly string[], after?: string): Promise<string[]> {
  const rows = await rowsOf(store, 3, after)
  return rows.map(({ streamId }) => streamId).filter(streamId => ids.includes(streamId))
}

/** The `next` of a page that ends with a log. */
async function tokenAfter(store: LogStore, streamId: string): Promise<string> {
  for (let after: string | undefined, pages = 0; pages < 10_000; pages++) {
    const { streams, next } = await store.listOldest(1, after)
    if (next === null) break
    if (streams[0]?.streamId === streamId) return next
    after = next
  }
  throw assertionError(`no page ends with the log ${streamId}`)
}

async function touch(trial: Trial, store: LogStore, streamId: string): Promise<void> {
  const { version } = await trial.head(store, streamId)
  const result = await store.append(streamId, batch('touch'), guest(), move(version, 'touched'))
  assertEqual(result.outcome, 'appended', 'an append that moves the ticket')
}

import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { type Child, startChildProcess } from '../../../../../scripts/faults/process.ts'
import type { LogStore } from '../../store/log-store.ts'
import { ALL, batch, guest, integrityOf, testFolder } from './sqlite-folder.fixture.ts'

const FIXTURE = fileURLToPath(new URL('sqlite-process.fixture.ts', import.meta.url))
const { newPath, open } = testFolder()
const start = (...args: string[]): Child => startChildProcess(FIXTURE, args)

interface Acked {
  readonly text: string
  readonly first: number
  readonly last: number
}

/** The log by the first text of each batch, after a check for gaps and repeats. */
async function placesOf(store: LogStore, streamId: string): Promise<Map<string, string>> {
  const page = await store.read(streamId, { sequence: 0 }, ALL)
  const rangeByText = new Map<string, string>()
  let last = 0
  for (const found of page?.batches ?? []) {
    const texts = JSON.parse(found.body) as string[]
    expect(found.first).toBe(last + 1)
    expect(found.last - found.first + 1).toBe(texts.length)
    rangeByText.set(texts[0] as string, `${found.first}..${found.last}`)
    last = found.last
  }
  expect(page?.head).toBe(last)
  expect(rangeByText.size).toBe(page?.batches.length)
  return rangeByText
}

const byName = (entries: Iterable<[string, string]>) => [...entries].sort(([a], [b]) => (a < b ? -1 : 1))
const placesTold = (acked: readonly Acked[]) =>
  acked.map(({ text, first, last }): [string, string] => [text, `${first}..${last}`])

describe('several processes on one file', () => {
  test('law 1: concurrent appends make one log without gap or repeat, and each process gets its sequences', async () => {
    const path = newPath()
    const store = open({ path })
    await store.create('log', null)
    const children = ['1', '2', '3', '4'].map(() => start('append', path, 'log', '40'))
    await Promise.all(children.map(each => each.event('ready')))
    await Promise.all(children.map(each => each.send({ go: true })))
    const processAcks: Acked[] = []
    for (let n = 0; n < 40; n++) {
      const result = await store.append('log', batch(`own-${n}`), guest())
      if (result.outcome !== 'appended') throw new Error(result.outcome)
      processAcks.push({ text: `own-${n}`, ...result })
    }
    const ends = await Promise.all(children.map(({ exited }) => exited))
    expect(ends.map(({ code, output }) => ({ code, output }))).toEqual(children.map(() => ({ code: 0, output: '' })))
    const acked = children.flatMap(each => each.events<Acked>('acked'))
    expect(acked).toHaveLength(4 * 3 * 40)
    expect(byName(await placesOf(store, 'log'))).toEqual(byName(placesTold([...processAcks, ...acked])))
    expect(integrityOf(path)).toBe('ok')
  })

  test('create one file when all start at once', async () => {
    const path = newPath()
    const children = Array.from({ length: 5 }, (_, n) => start('create', path, `log-${n}`))
    await Promise.all(children.map(each => each.event('ready')))
    await Promise.all(children.map(each => each.send({ go: true })))
    const reports = await Promise.all(children.map(each => each.event<{ created: boolean }>('created')))
    expect(reports.map(({ created }) => created)).toEqual([true, true, true, true, true])
    await Promise.all(children.map(({ exited }) => exited))
    const { streams } = await open({ path }).list(null, 9)
    expect(streams.map(({ streamId }) => streamId).sort()).toEqual([0, 1, 2, 3, 4].map(n => `log-${n}`))
    expect(integrityOf(path)).toBe('ok')
  })

  test('law 2: an append wakes watchers in another process and in another handle', async () => {
    const path = newPath()
    const [store, other] = [open({ path }), open({ path })]
    await store.create('log', null)
    const watcher = start('watch', path, 'log')
    await watcher.event('watching')
    for (const head of [1, 2, 3]) {
      const woken = new Promise<void>(resolve => {
        const stop = other.watch('log', () => {
          stop()
          resolve()
        })
      })
      await store.append('log', batch('x'), guest())
      while ((await watcher.event<{ head: number }>('woken')).head < head);
      await woken
    }
    await watcher.send({ leave: true })
    expect((await watcher.exited).code).toBe(0)
  })

  test('a watch and a worker keep no process alive', async () => {
    const path = newPath()
    const store = open({ path })
    await store.create('log', null)
    const leaver = start('leave', path, 'log')
    await leaver.event('left')
    expect(await leaver.exited).toEqual({ code: 0, signal: null, output: '' })
    expect(await store.getBlob('log', 'hash')).toHaveLength(1_000_000)
  })
})

describe.each(['normal', 'full'])('kill -9 of a writer, with durability %s', durability => {
  test('law 2: loses no acknowledged append, and the next writer continues', async () => {
    const path = newPath()
    const store = open({ path })
    await store.create('log', null)
    const writer = start('write', path, 'log', durability)
    for (let n = 0; n < 30; n++) await writer.event('acked')
    await writer.kill9()
    const acked = writer.events<Acked>('acked')
    const rangeByText = await placesOf(store, 'log')
    for (const [text, range] of placesTold(acked)) expect(rangeByText.get(text)).toBe(range)
    // At most the one append in flight is in the log unacknowledged.
    expect(rangeByText.size - 30 - acked.length).toBeLessThanOrEqual(1)
    const page = await store.read('log', { sequence: 0 }, { batches: 0, bytes: 0 })
    const moved = [...rangeByText.keys()].filter(text => Number(text.split('-')[1]) % 3 === 0)
    expect(page?.ticket).toBe(moved.at(-1))

    const next = start('write', path, 'log', durability)
    for (let n = 0; n < 5; n++) await next.event('acked')
    await next.kill9()
    expect((await placesOf(store, 'log')).size).toBeGreaterThanOrEqual(rangeByText.size + 5)
    expect(integrityOf(path)).toBe('ok')
  })
})

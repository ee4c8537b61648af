import { existsSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { setImmediate as turn } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Worker } from 'node:worker_threads'
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { startChildProcess } from '../../../../../scripts/faults/process.ts'
import { sqliteStore } from './index.ts'
import { ALL, batch, guest, testFolder } from './sqlite-folder.fixture.ts'

/** The workers that were started. The store takes `Worker` from the module when it starts one. */
const workers: Worker[] = []
const threads = process.getBuiltinModule('node:worker_threads')
const actual = threads.Worker
threads.Worker = class extends actual {
  constructor(...args: ConstructorParameters<typeof actual>) {
    super(...args)
    workers.push(this)
  }
}
afterAll(() => {
  threads.Worker = actual
})

const FIXTURE = fileURLToPath(new URL('sqlite-process.fixture.ts', import.meta.url))
const { newPath, open } = testFolder()
const LARGE = 'x'.repeat(200_000)

describe('the thread of a call', () => {
  test('runs small writes and reads in place, large writes and durability full in a worker', async () => {
    const before = workers.length
    const store = open({ path: newPath() })
    await store.create('log', null)
    await store.append('log', batch('a'), guest())
    await store.trim('log', 1)
    await store.read('log', { sequence: 0 }, ALL)
    expect(workers.length).toBe(before)
    await store.append('log', batch(LARGE), guest())
    expect(workers.length).toBe(before + 1)
    await open({ path: newPath(), durability: 'full' }).create('log', null)
    expect(workers.length).toBe(before + 2)
  })

  test.each(['normal', 'full'] as const)(
    'law 1: keeps the order of appends to a log, with durability %s',
    async durability => {
      const store = open({ path: newPath(), durability })
      await store.create('log', null)
      const texts = Array.from({ length: 60 }, (_, n) => (n % 5 === 0 ? `${n}${LARGE}` : `${n}`))
      const results = await Promise.all(texts.map(text => store.append('log', batch(text), guest())))
      expect(results.map(result => ('first' in result ? result.first : 0))).toEqual(texts.map((_, n) => n + 1))
      const page = await store.read('log', { sequence: 0 }, ALL)
      expect(page?.batches.map(({ body }) => body)).toEqual(texts.map(text => batch(text).body))
    },
  )

  test('calls in sequence do not block the event loop', async () => {
    const store = open({ path: newPath() })
    await store.create('log', null)
    for (const call of [
      () => store.read('log', { sequence: 0 }, ALL),
      () => store.append('log', batch('x'), guest()),
      () => store.find('log', 'key'),
    ]) {
      const turns = countTurns()
      for (let n = 0; n < 100_000 && turns.count < 5; n++) await call()
      expect(turns.stop()).toBeGreaterThanOrEqual(5)
    }
  })

  test('many concurrent calls do not block the event loop', async () => {
    const store = open({ path: newPath() })
    const ids = Array.from({ length: 2000 }, (_, n) => `log-${n}`)
    // Independent of the speed of the machine: each call takes a millisecond by this clock, and no turn takes more than a few.
    let time = performance.now()
    const now = vi.spyOn(performance, 'now').mockImplementation(() => time++)
    onTestFinished(() => now.mockRestore())
    for (const call of [
      (id: string) => store.create(id, null),
      (id: string) => store.append(id, batch('x'), guest()),
      (id: string) => store.read(id, { sequence: 0 }, ALL),
    ]) {
      const turns = countTurns()
      await Promise.all(ids.map(id => call(id)))
      expect(turns.stop()).toBeGreaterThanOrEqual(ids.length / 10)
    }
    expect(await store.read('log-1999', { sequence: 0 }, ALL)).toMatchObject({ head: 1 })
  })
})

/** Counts the turns of the event loop. */
function countTurns() {
  const next = () => {
    turns.count++
    immediate = setImmediate(next)
  }
  let immediate = setImmediate(next)
  const turns = {
    count: 0,
    stop() {
      clearImmediate(immediate)
      return turns.count
    },
  }
  return turns
}

describe('a file that another process keeps locked', () => {
  test('delays appends in the worker only: the event loop continues and reads are answered', async () => {
    const path = newPath()
    const store = open({ path })
    const executed = vi.spyOn(DatabaseSync.prototype, 'exec')
    onTestFinished(() => executed.mockRestore())
    await store.create('log', null)
    // The connection of the event loop never waits for a lock.
    const timeouts = executed.mock.calls.flatMap(([sql]) => /busy_timeout = (\d+)/.exec(sql)?.slice(1) ?? [])
    expect(timeouts).toEqual(['0'])
    const holder = startChildProcess(FIXTURE, ['lock', path])
    await holder.event('locked')
    let answered = 0
    const appends = ['a', 'b', 'c'].map(text => store.append('log', batch(text), guest()).finally(() => answered++))
    for (let turns = 0; turns < 500; turns++) await turn()
    expect(await store.read('log', { sequence: 0 }, ALL)).toMatchObject({ head: 0 })
    expect(answered).toBe(0)
    await holder.send({ release: true })
    expect(await Promise.all(appends)).toMatchObject([1, 2, 3].map(first => ({ outcome: 'appended', first })))
    await holder.exited
  })

  test('rejects an append as unavailable when the lock is never released, and writes nothing', async () => {
    const path = newPath()
    const store = open({ path })
    await store.create('log', null)
    const holder = startChildProcess(FIXTURE, ['lock', path])
    await holder.event('locked')
    await expect(store.append('log', batch('a'), guest())).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(/another process holds its lock/),
    })
    await holder.kill9()
    expect(await store.append('log', batch('b'), guest())).toMatchObject({ outcome: 'appended', first: 1 })
  })
})

describe('the worker', () => {
  test('is replaced after it was lost, and pending calls fail as unavailable', async () => {
    const store = open({ path: newPath(), durability: 'full' })
    await store.create('log', null)
    const waiting = store.append('log', batch(LARGE), guest())
    await workers.at(-1)?.terminate()
    await expect(waiting).rejects.toMatchObject({ code: 'unavailable' })
    const { head = 0 } = (await store.read('log', { sequence: 0 }, ALL)) ?? {}
    expect(await store.append('log', batch('b'), guest())).toMatchObject({ outcome: 'appended', first: head + 1 })
  })

  test('keeps the write-ahead log short during writes', async () => {
    const path = newPath()
    const store = open({ path })
    await store.create('log', null)
    await store.putBlob('log', 'start the worker', new Uint8Array(200_000))
    const claim = await store.claim('log', 'me', 60_000, false)
    const { incarnation = '' } = (await store.read('log', { sequence: 0 }, ALL)) ?? {}
    if (claim.outcome !== 'claimed') throw new Error(claim.outcome)
    const { epoch } = claim
    // Every append writes at least a page. Checkpoints run concurrently, later on a loaded machine, which needs more appends.
    const isShort = (appends: number) => statSync(`${path}-wal`).size < (appends * 4096) / 2
    let counter = 0
    while (++counter < 500_000 && !(counter % 1000 === 0 && counter >= 20_000 && isShort(counter))) {
      const lastAcked = { sequence: counter - 1, incarnation, epoch: counter === 1 ? '0' : epoch }
      await store.append('log', batch('x'), { epoch, counter, lastAcked })
    }
    const appends = counter - 1
    expect(isShort(appends)).toBe(true)
    expect(await store.read('log', { sequence: appends - 1 }, ALL)).toMatchObject({ head: appends })
  })

  test('law 8: rejects calls when too many bytes wait for it', async () => {
    const store = open({ path: newPath(), durability: 'full' })
    await store.create('log', null)
    const body = JSON.stringify(['x'.repeat(store.maxBatchBytes - 4)])
    const calls = Array.from({ length: 20 }, () => store.append('log', { body, count: 1 }, guest()))
    const results = await Promise.allSettled(calls)
    const refused = results.filter(({ status }) => status === 'rejected')
    expect(refused.length).toBe(4)
    expect(refused[0]).toMatchObject({ reason: { code: 'unavailable', message: expect.stringMatching(/are waiting/) } })
    expect(await store.read('log', { sequence: 16 }, ALL)).toMatchObject({ head: 16, batches: [] })
  })
})

describe('close', () => {
  test.each(['normal', 'full'] as const)('finishes pending calls, with durability %s', async durability => {
    const path = newPath()
    const store = sqliteStore({ path, durability })
    await store.create('log', null)
    const appends = [
      ...[LARGE, 'b', 'c'].map(text => store.append('log', batch(text), guest())),
      store.putBlob('log', 'hash', new Uint8Array(1_000_000)),
      store.read('log', { sequence: 0 }, ALL),
    ]
    const closed = store.close()
    // The read may see any part of it.
    const answers = [{ first: 1 }, { first: 2 }, { first: 3 }, undefined, { head: expect.any(Number) }]
    expect(await Promise.all(appends)).toMatchObject(answers)
    await closed
    const after = open({ path })
    expect(await after.read('log', { sequence: 3 }, ALL)).toMatchObject({ head: 3 })
    expect(await after.getBlob('log', 'hash')).toHaveLength(1_000_000)
  })

  test('sends nothing but the close to the worker, also during a checkpoint', async () => {
    const store = sqliteStore({ path: newPath() })
    await store.create('log', null)
    // Enough to start a checkpoint, which also has to include later writes.
    await store.putBlob('log', 'hash', new Uint8Array(17 * 1024 * 1024))
    const [started, worker] = [workers.length, workers.at(-1) as Worker]
    const postMessage = vi.spyOn(worker, 'postMessage')
    const appended = store.append('log', batch('a'), guest())
    await store.close()
    expect(await appended).toMatchObject({ outcome: 'appended' })
    expect(postMessage.mock.calls).toEqual([[{ kind: 'close' }]])
    expect(workers.length).toBe(started)
  })

  test('rejects later calls, and may be called twice', async () => {
    const store = sqliteStore({ path: newPath() })
    await store.create('log', null)
    await store.close()
    await store.close()
    const closed = expect.objectContaining({ code: 'closed' })
    await expect(store.append('log', batch('a'), guest())).rejects.toEqual(closed)
    await expect(store.read('log', { sequence: 0 }, ALL)).rejects.toEqual(closed)
    await expect(store.restored()).rejects.toEqual(closed)
    expect(() => store.watch('log', () => {})).toThrow(closed)
  })

  test('creates no file for a store that was never used', async () => {
    const path = newPath()
    const store = sqliteStore({ path })
    await store.close()
    expect(existsSync(path)).toBe(false)
  })
})

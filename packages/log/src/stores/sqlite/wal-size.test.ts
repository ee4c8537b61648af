// The size of the write-ahead log: bounded while writes continue, and emptied when a reader that prevented it ends.

import { randomUUID } from 'node:crypto'
import fs, { statSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test, vi } from 'vitest'
import { ALL, batch, guest, testFolder } from './sqlite-folder.fixture.ts'

const { newPath, open } = testFolder()

const WAL_BYTES = 256 * 1024
/** A write in flight, and the pages between two checks of the size, may exceed the bound. */
const MAX_BYTES = 3 * 1024 * 1024
const walBytes = (path: string): number => statSync(`${path}-wal`).size

/** A transaction of a reader that is not this store, such as a backup. Returns a function that ends it. */
function openReader(path: string): () => void {
  const reader = new DatabaseSync(path)
  onTestFinished(() => reader.close())
  reader.exec('BEGIN')
  reader.prepare('SELECT count(*) FROM streams').get()
  return () => reader.exec('COMMIT')
}

const untilBounded = (path: string) =>
  vi.waitFor(() => expect(walBytes(path)).toBeLessThanOrEqual(WAL_BYTES), { timeout: 60_000, interval: 20 })

test.each(['normal', 'full'] as const)(
  'small appends keep the write-ahead log small, with durability %s',
  async durability => {
    const path = newPath()
    const store = open({ path, durability, walBytes: WAL_BYTES })
    await store.create('log', null)
    let largest = 0
    for (let n = 0; n < 60; n++) {
      await Promise.all(Array.from({ length: 50 }, () => store.append('log', batch('x'.repeat(4000)), guest())))
      largest = Math.max(largest, walBytes(path))
    }
    expect(largest).toBeLessThan(MAX_BYTES)
    expect(await store.read('log', { sequence: 0 }, ALL)).toMatchObject({ head: 3000 })
  },
)

test('uploads that wait in a queue keep the write-ahead log small', async () => {
  const path = newPath()
  const store = open({ path, walBytes: WAL_BYTES })
  await store.create('log', null)
  const size = 4 * 1024 * 1024
  let largest = 0
  const uploads = Array.from({ length: 16 }, async (_, n) => {
    await store.putBlob('log', `${n}`, new Uint8Array(size))
    largest = Math.max(largest, walBytes(path))
  })
  await Promise.all(uploads)
  // A transaction has at most 8 MiB and the value that exceeds them.
  expect(largest).toBeLessThan(4 * size)
  // The next write after a checkpoint shrinks it.
  await vi.waitFor(
    async () => {
      await store.putBlob('log', randomUUID(), new Uint8Array(1))
      expect(walBytes(path)).toBeLessThanOrEqual(WAL_BYTES)
    },
    { timeout: 60_000, interval: 20 },
  )
})

test('the writes of several stores on a file are bounded together', async () => {
  const path = newPath()
  const stores = Array.from({ length: 4 }, () => open({ path, walBytes: WAL_BYTES }))
  await stores[0]?.create('log', null)
  let largest = 0
  for (let n = 0; n < 100; n++) {
    await Promise.all(stores.map(store => store.append('log', batch('x'.repeat(20_000)), guest())))
    largest = Math.max(largest, walBytes(path))
  }
  expect(largest).toBeLessThan(2 * MAX_BYTES)
})

test('a reader that prevents checkpoints stops no write, and the write-ahead log shrinks when it ends', async () => {
  const path = newPath()
  const store = open({ path, walBytes: WAL_BYTES })
  await store.create('log', null)
  const end = openReader(path)
  for (let n = 0; n < 100; n++) await store.append('log', batch('x'.repeat(20_000)), guest())
  expect(walBytes(path)).toBeGreaterThan(4 * WAL_BYTES)
  end()
  await untilBounded(path)
})

test('a full database file empties the write-ahead log, which may be what fills the disk', async () => {
  const path = newPath()
  const store = open({ path, maxPages: 100 })
  await store.create('log', null)
  const write = () => store.append('log', batch('x'.repeat(20_000)), guest())
  for (let isFull = false; !isFull; ) isFull = await write().then(...[() => false, () => true])
  await vi.waitFor(() => expect(walBytes(path)).toBe(0), { timeout: 60_000, interval: 20 })
  await expect(write()).rejects.toMatchObject({ code: 'unavailable' })
})

test('the default is a share of the free space of a small disk', async () => {
  const path = newPath()
  const block = 4096
  const disk = { ...fs.statfsSync(dirname(path)), bsize: block, bavail: (16 * WAL_BYTES) / block }
  const free = vi.spyOn(fs, 'statfsSync').mockReturnValue(disk)
  syncBuiltinESMExports()
  onTestFinished(() => {
    free.mockRestore()
    syncBuiltinESMExports()
  })
  const store = open({ path })
  await store.create('log', null)
  let largest = 0
  for (let n = 0; n < 40; n++) {
    await Promise.all(Array.from({ length: 50 }, () => store.append('log', batch('x'.repeat(4000)), guest())))
    largest = Math.max(largest, walBytes(path))
  }
  expect(largest).toBeLessThan(8 * WAL_BYTES)
})

test('rejects a size that is too small', () => {
  expect(() => open({ path: newPath(), walBytes: 1000 })).toThrow(/walBytes: expected a whole number from 65536/)
})

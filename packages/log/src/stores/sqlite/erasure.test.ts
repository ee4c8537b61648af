// A removed log leaves no text in the files of a store, as soon as no reader needs an older state.

import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test, vi } from 'vitest'
import { startChildProcess } from '../../../../../scripts/faults/process.ts'
import { filesWith, writeEverywhere } from '../removed-log.fixture.ts'
import { sqliteStore } from './index.ts'
import { ALL, batch, guest, integrityOf, testFolder } from './sqlite-folder.fixture.ts'
import { WorkerThread } from './worker-thread.ts'

const FIXTURE = fileURLToPath(new URL('sqlite-process.fixture.ts', import.meta.url))
const { newPath, open } = testFolder()

/** The files of a store that contain the text of the removed logs. */
const filesOf = (path: string): string[] => filesWith(dirname(path)).filter(file => file.startsWith(path))

const untilErased = (path: string) =>
  vi.waitFor(() => expect(filesOf(path)).toEqual([]), { timeout: 60_000, interval: 20 })

test.each(['normal', 'full'] as const)(
  'a removed log leaves no text in the files, with durability %s',
  async durability => {
    const path = newPath()
    const store = open({ path, durability })
    await writeEverywhere(store, 'kept', 'a note of Ben')
    await writeEverywhere(store, 'gone')
    expect(filesOf(path)).not.toEqual([])
    expect(await store.remove('gone')).toBe(true)
    await untilErased(path)
    expect(filesWith(dirname(path), 'a note of Ben')).toContain(path)
    expect(integrityOf(path)).toBe('ok')
  },
)

test('a removed log is erased when the reader of another connection ends', async () => {
  const path = newPath()
  const store = open({ path })
  await writeEverywhere(store, 'gone')
  const reader = new DatabaseSync(path)
  onTestFinished(() => reader.close())
  reader.exec('BEGIN')
  reader.prepare('SELECT count(*) FROM streams').get()
  await store.remove('gone')
  await store.create('other', null)
  expect(filesOf(path)).not.toEqual([])
  reader.exec('COMMIT')
  await untilErased(path)
})

test('a removed log is erased also if another checkpoint runs before the reader of another connection ends', async () => {
  const path = newPath()
  const store = open({ path })
  await writeEverywhere(store, 'gone')
  await store.create('other', null)
  const reader = new DatabaseSync(path)
  onTestFinished(() => reader.close())
  reader.exec('BEGIN')
  reader.prepare('SELECT count(*) FROM streams').get()
  const checkpoints = vi.spyOn(WorkerThread.prototype, 'checkpoint')
  onTestFinished(() => checkpoints.mockRestore())
  const truncations = () => checkpoints.mock.calls.filter(([mode]) => mode === 'truncate').length
  await store.remove('gone')
  await vi.waitFor(() => expect(truncations()).toBeGreaterThan(1), { timeout: 60_000, interval: 20 })
  // As many pages as start a checkpoint.
  await store.putBlob('other', 'hash', new Uint8Array(20 * 1024 * 1024))
  reader.exec('COMMIT')
  await untilErased(path)
})

test('a removed log is erased by the next process if its own was killed', async () => {
  const path = newPath()
  const store = sqliteStore({ path })
  await writeEverywhere(store, 'gone')
  await store.close()
  const child = startChildProcess(FIXTURE, ['remove', path, 'gone'])
  expect(await child.event('removed')).toMatchObject({ removed: true })
  expect(filesOf(path)).not.toEqual([])
  await child.kill9()
  const next = open({ path })
  expect(await next.read('gone', { sequence: 0 }, ALL)).toBeUndefined()
  await untilErased(path)
})

test('writes continue while logs are erased', async () => {
  const path = newPath()
  const store = open({ path })
  await store.create('kept', null)
  for (let n = 0; n < 20; n++) await writeEverywhere(store, `gone-${n}`)
  const appends = Array.from({ length: 200 }, (_, n) => store.append('kept', batch(`${n}`), guest()))
  const removals = Array.from({ length: 20 }, (_, n) => store.remove(`gone-${n}`))
  expect(await Promise.all(removals)).toEqual(removals.map(() => true))
  expect((await Promise.all(appends)).every(({ outcome }) => outcome === 'appended')).toBe(true)
  await untilErased(path)
  expect(await store.read('kept', { sequence: 0 }, ALL)).toMatchObject({ head: 200 })
})

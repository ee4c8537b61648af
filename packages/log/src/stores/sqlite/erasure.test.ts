// What a removed log leaves in the files of a store: nothing, as soon as no reader needs an older state.

import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test, vi } from 'vitest'
import { startChildProcess } from '../../../../../scripts/faults/process.ts'
import type { LogStore } from '../../store/log-store.ts'
import { sqliteStore } from './index.ts'
import { ALL, batch, guest, integrityOf, testFolder } from './sqlite-folder.fixture.ts'

const FIXTURE = fileURLToPath(new URL('sqlite-process.fixture.ts', import.meta.url))
const SECRET = 'a secret of Ann'
const KEPT = 'a note of Ben'
const { newPath, open } = testFolder()

/** Whether a file of the store contains a text. */
const hasText = (path: string, text: string): boolean =>
  readdirSync(dirname(path))
    .filter(name => name.startsWith(basename(path)))
    .some(name => readFileSync(join(dirname(path), name)).includes(text))

/** Writes a text to all places of a log: entries, a key, a snapshot, a blob, the ticket and the names. */
async function write(store: LogStore, streamId: string, text: string): Promise<void> {
  await store.create(streamId, text)
  const { version = '' } = (await store.read(streamId, { sequence: 0 }, ALL)) ?? {}
  const ticket = { ifVersion: version, next: { state: text, due: { at: null, program: text } } }
  await store.append(streamId, batch(text, text.repeat(1000)), { ...guest(), key: text }, ticket)
  await store.putSnapshot(streamId, { sequence: 1, mark: 'm', version: 1, body: text.repeat(500) }, 2)
  await store.putBlob(streamId, text, Buffer.from(text.repeat(2000)))
}

const erased = { timeout: 60_000, interval: 20 }

test.each(['normal', 'full'] as const)(
  'a removed log leaves no text in the files, with durability %s',
  async durability => {
    const path = newPath()
    const store = open({ path, durability })
    await write(store, 'kept', KEPT)
    await write(store, 'gone', SECRET)
    expect(hasText(path, SECRET)).toBe(true)
    expect(await store.remove('gone')).toBe(true)
    await vi.waitFor(() => expect(hasText(path, SECRET)).toBe(false), erased)
    expect(hasText(path, KEPT)).toBe(true)
    expect(integrityOf(path)).toBe('ok')
  },
)

test('a removed log is erased when the reader of another connection ends', async () => {
  const path = newPath()
  const store = open({ path })
  await write(store, 'gone', SECRET)
  const reader = new DatabaseSync(path)
  onTestFinished(() => reader.close())
  reader.exec('BEGIN')
  reader.prepare('SELECT count(*) FROM streams').get()
  await store.remove('gone')
  // Two checkpoints, of which the reader prevents the second.
  await store.create('other', null)
  expect(hasText(path, SECRET)).toBe(true)
  reader.exec('COMMIT')
  await vi.waitFor(() => expect(hasText(path, SECRET)).toBe(false), erased)
})

test('a removed log is erased by the next process if its own was killed', async () => {
  const path = newPath()
  const store = sqliteStore({ path })
  await write(store, 'gone', SECRET)
  await store.close()
  const child = startChildProcess(FIXTURE, ['remove', path, 'gone'])
  expect(await child.event('removed')).toMatchObject({ removed: true })
  expect(hasText(path, SECRET)).toBe(true)
  await child.kill9()
  const next = open({ path })
  expect(await next.read('gone', { sequence: 0 }, ALL)).toBeUndefined()
  await vi.waitFor(() => expect(hasText(path, SECRET)).toBe(false), erased)
})

test('writes continue while a log is erased', async () => {
  const path = newPath()
  const store = open({ path })
  await store.create('kept', null)
  for (let n = 0; n < 20; n++) await write(store, `gone-${n}`, SECRET)
  const appends = Array.from({ length: 200 }, (_, n) => store.append('kept', batch(`${n}`), guest()))
  const removals = Array.from({ length: 20 }, (_, n) => store.remove(`gone-${n}`))
  expect(await Promise.all(removals)).toEqual(removals.map(() => true))
  expect((await Promise.all(appends)).every(({ outcome }) => outcome === 'appended')).toBe(true)
  await vi.waitFor(() => expect(hasText(path, SECRET)).toBe(false), erased)
  expect(await store.read('kept', { sequence: 0 }, ALL)).toMatchObject({ head: 200 })
})

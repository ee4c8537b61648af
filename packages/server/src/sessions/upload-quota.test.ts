import { type LogStore, memoryStore } from '@millrace/log'
import { describe, expect, test } from 'vitest'
import { openTwoUserServer, type TwoUserServer } from '../routing/two-user-server.fixture.ts'
import { MIN_COUNTED_BYTES, USAGE_MS } from './upload-quota.ts'

const FILE = MIN_COUNTED_BYTES

/** Uploads a file whose bytes differ by `name`. Returns the status and the code of an error. */
async function keep(testServer: TwoUserServer, sessionId: string, name: string, size = FILE, user = 'ann') {
  const raw = Buffer.alloc(size, name)
  const headers = { 'content-type': 'text/plain' }
  const { status, json } = await testServer.send({ path: `/api/sessions/${sessionId}/uploads`, raw, headers, user })
  return [status, (json as { error?: { code: string } }).error?.code]
}

const OK = [201, undefined]
const REFUSED = [429, 'uploads_limit']

describe('the quota of uploads', () => {
  test('bounds the files of a session, and a file that it has already needs no room', async () => {
    const testServer = openTwoUserServer({ limits: { sessionUploadedBytes: 4 * FILE } })
    expect(await keep(testServer, 's', 'a', 2 * FILE)).toEqual(OK)
    // The descriptions of files count too.
    expect(await keep(testServer, 's', 'b', 2 * FILE)).toEqual(REFUSED)
    expect(await keep(testServer, 's', 'b', 2 * FILE - 1000)).toEqual(OK)
    expect(await keep(testServer, 's', 'c', 1)).toEqual(REFUSED)
    expect(await keep(testServer, 's', 'a', 2 * FILE)).toEqual(OK)
    expect(await keep(testServer, 'other', 'c')).toEqual(OK)
  })

  test('counts small files as larger ones, so that their number is bounded', async () => {
    const testServer = openTwoUserServer({ limits: { sessionUploadedBytes: 4 * FILE } })
    const kept = []
    for (let n = 0; n < 6; n++) kept.push((await keep(testServer, 's', `${n}`, 1))[0])
    expect(kept).toEqual([201, 201, 201, 201, 429, 429])
  })

  test('bounds all files of an owner, also when sent at once, and no other owner is affected', async () => {
    const testServer = openTwoUserServer({ limits: { ownerUploadedBytes: 3 * FILE } })
    const all = await Promise.all(Array.from({ length: 8 }, (_, n) => keep(testServer, `s${n}`, `${n}`, 10)))
    expect(all.filter(([status]) => status === 201)).toHaveLength(3)
    expect(all.filter(([status]) => status === 429)).toHaveLength(5)
    expect(await keep(testServer, 'of-bob', 'x', 10, 'bob')).toEqual(OK)
  })

  test('refuses an owner without room before the body is read', async () => {
    const testServer = openTwoUserServer({ limits: { ownerUploadedBytes: FILE } })
    expect(await keep(testServer, 's', 'a', 10)).toEqual(OK)
    let pulled = 0
    const raw = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          pulled++
          controller.enqueue(new Uint8Array(1000))
        },
      },
      { highWaterMark: 0 },
    )
    const { status } = await testServer.send({
      path: '/api/sessions/s/uploads',
      raw,
      headers: { 'content-type': 'a/b' },
    })
    expect([status, pulled]).toEqual([429, 0])
  })

  test('survives a restart, is shared by processes, and a deleted session makes room', async () => {
    const store = memoryStore()
    let now = Date.now()
    const timers = { now: () => now, after: () => () => {} }
    const options = { store, limits: { ownerUploadedBytes: 2 * FILE }, timers, engine: false } as const
    const first = openTwoUserServer(options)
    expect(await keep(first, 'one', 'a', 10)).toEqual(OK)
    const second = openTwoUserServer(options)
    expect(await keep(second, 'two', 'b', 10)).toEqual(OK)
    expect(await keep(second, 'two', 'c', 10)).toEqual(REFUSED)
    // The other process notices when it measures again.
    now += USAGE_MS
    expect(await keep(first, 'one', 'c', 10)).toEqual(REFUSED)
    expect((await second.send({ path: '/api/sessions/two', method: 'DELETE' })).status).toBe(204)
    now += USAGE_MS
    expect(await keep(first, 'one', 'c', 10)).toEqual(OK)
  })

  test('counts the files of a fork, so that forks are bounded too', async () => {
    const testServer = openTwoUserServer({ limits: { ownerUploadedBytes: 2 * FILE } })
    await testServer.run('s', { agent: 'echo', input: 'Hello' })
    expect(await keep(testServer, 's', 'a', 10)).toEqual(OK)
    const fork = () => testServer.send({ path: '/api/sessions/s/fork', body: {} })
    expect((await fork()).status).toBe(201)
    const { status, json } = await fork()
    expect([status, json]).toEqual([429, { error: expect.objectContaining({ code: 'uploads_limit' }) }])
  })

  test('is warned about once if the store cannot measure files', async () => {
    const store: LogStore = Object.assign(memoryStore(), { blobUsage: undefined })
    const testServer = openTwoUserServer({ store, limits: { ownerUploadedBytes: 0 } })
    expect(await keep(testServer, 's', 'a', 10)).toEqual(OK)
    expect(await keep(testServer, 's', 'b', 10)).toEqual(OK)
    expect(testServer.logged.map(({ message }) => message)).toEqual([expect.stringContaining('uploads have no quota')])
  })
})

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LogError, type LogStore, memoryStore } from '@millrace/log'
import { sqliteStore } from '@millrace/log/sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { request, testApp } from '../app/test-app.fixture.ts'
import { PROBE_MS, StoreProbe } from '../sessions/store-probe.ts'
import { STORE_TIMEOUT_MS } from './store-timeout.ts'

const full = () => Promise.reject(new LogError('unavailable', 'the disk is full'))

/** A store in memory with this probe, and the number of its calls. */
function probedStore(probe: () => Promise<void>) {
  const calls = { count: 0 }
  const store: LogStore = Object.assign(memoryStore(), {
    probeWrite: () => {
      calls.count++
      return probe()
    },
  })
  return { store, calls }
}

const statusOf = async (app: ReturnType<typeof testApp>['app'], path: string) => {
  const response = await app.fetch(request(path))
  const { status, error } = await response.json()
  return [response.status, error?.code ?? status]
}

test('a server whose store refuses writes is not ready, and is live', async () => {
  const { app, logged } = testApp({ store: probedStore(full).store })
  expect(await statusOf(app, '/api/health')).toEqual([503, 'store_unavailable'])
  expect(await statusOf(app, '/api/live')).toEqual([200, 'ok'])
  expect(logged.some(({ fields }) => String(fields['cause']).includes('refuses writes'))).toBe(true)
})

test('a server with a full SQLite file is not ready until a session is deleted', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-health-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  let now = Date.now()
  const timers = { now: () => now, after: () => () => {} }
  const store = sqliteStore({ path: join(folder, 'a.db'), maxPages: 60 })
  onTestFinished(() => store.close())
  const probe = new StoreProbe(store, timers)
  await store.create('log', null)
  await expect(probe.check()).resolves.toBeUndefined()
  for (let n = 0, isFull = false; !isFull; n++)
    isFull = await store.putBlob('log', `${n}`, new Uint8Array(10_000)).then(...[() => false, () => true])
  now += PROBE_MS
  await expect(probe.check()).rejects.toMatchObject({ code: 'store_unavailable' })
  await store.remove('log')
  now += PROBE_MS
  await expect(probe.check()).resolves.toBeUndefined()
})

test('many checks share one probe, and a later check probes again', async () => {
  const { store, calls } = probedStore(async () => {})
  let now = 0
  const probe = new StoreProbe(store, { now: () => now, after: () => () => {} })
  await Promise.all(Array.from({ length: 100 }, () => probe.check()))
  now = PROBE_MS - 1
  await probe.check()
  expect(calls.count).toBe(1)
  now = PROBE_MS
  await probe.check()
  expect(calls.count).toBe(2)
})

test('a probe that hangs is not repeated, and its checks end by their timeout', async () => {
  const { store, calls } = probedStore(() => new Promise(() => {}))
  const due: (() => void)[] = []
  const timers = {
    now: () => 0,
    after: (ms: number, action: () => void) => {
      if (ms === STORE_TIMEOUT_MS) due.push(action)
      return () => {}
    },
  }
  const { app } = testApp({ store, timers, engine: false })
  await app.runtime()
  const checks = Array.from({ length: 20 }, () => statusOf(app, '/api/health'))
  await expect
    .poll(() => {
      for (const action of due.splice(0)) action()
      return calls.count
    })
    .toBe(1)
  const pending = Promise.all(checks)
  const ticking = setInterval(() => {
    for (const action of due.splice(0)) action()
  }, 1)
  onTestFinished(() => clearInterval(ticking))
  expect(new Set((await pending).map(String))).toEqual(new Set(['503,store_unavailable']))
  expect(calls.count).toBe(1)
})

test('a server is live while its store cannot be opened, while it closes, and only for accepted callers', async () => {
  const { app } = testApp({ store: Promise.reject(new Error('no disk')) })
  expect(await statusOf(app, '/api/health')).toEqual([503, 'store_unavailable'])
  expect(await statusOf(app, '/api/live')).toEqual([200, 'ok'])
  await app.close()
  expect(await statusOf(app, '/api/health')).toEqual([503, 'draining'])
  expect(await statusOf(app, '/api/live')).toEqual([200, 'ok'])
  const { app: guarded } = testApp({ authorize: () => null })
  expect(await statusOf(guarded, '/api/live')).toEqual([401, 'unauthorized'])
  const { app: limited } = testApp({ authorize: () => 'probe', limits: { requestsPerMinute: 1 } })
  expect(await statusOf(limited, '/api/live')).toEqual([200, 'ok'])
  expect(await statusOf(limited, '/api/live')).toEqual([429, 'rate_limit'])
})

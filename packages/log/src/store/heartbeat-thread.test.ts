import { Worker } from 'node:worker_threads'
import { describe, expect, test } from 'vitest'
import type { HeldLease } from './heartbeat.ts'
import { HeartbeatThread } from './heartbeat-thread.ts'

const lease: HeldLease = {
  streamId: 's',
  epoch: '1-a',
  ttlMs: 100,
  maxBlockedMs: 1000,
  onLost: () => {},
  onRenewed: () => {},
}
const threadOf = (code: string) => new HeartbeatThread(() => new Worker(code, { eval: true }))

describe('a heartbeat', () => {
  test.each<[string, HeartbeatThread, string]>([
    ['threads cannot be started', new HeartbeatThread(() => fail('no threads')), 'no threads'],
    ['its thread throws', threadOf("throw new Error('no driver')"), 'no driver'],
    ['its thread ends', threadOf(''), 'the heartbeat thread ended'],
    [
      'its thread reports a failure',
      threadOf("require('node:worker_threads').parentPort.postMessage({ kind: 'failed', message: 'wrong password' })"),
      'wrong password',
    ],
  ])('fails if %s, and no call waits for it', async (_, heartbeat, message) => {
    expect(await heartbeat.ready()).toBe(false)
    expect(heartbeat.failure?.message).toBe(message)
    const kept = heartbeat.keep(lease)
    expect(kept.until).toBe(Number.NEGATIVE_INFINITY)
    kept.progress()
    kept.stop()
    await heartbeat.ready()
    await heartbeat.close()
  })

  test('fails when its store is closed', async () => {
    const heartbeat = threadOf("require('node:worker_threads').parentPort.on('message', () => process.exit())")
    heartbeat.keep(lease)
    await Promise.all([heartbeat.close(), heartbeat.close()])
    expect(heartbeat.failure).toMatchObject({ code: 'closed' })
  })
})

test('a heartbeat is ready once its thread has connected', async () => {
  const code = `
    const { parentPort } = require('node:worker_threads')
    parentPort.postMessage({ kind: 'ready', isConnected: false })
    parentPort.on('message', ({ kind }) => {
      if (kind === 'close') process.exit()
      parentPort.postMessage({ kind: 'ready', isConnected: true })
      parentPort.postMessage({ kind: 'changed', lost: [], renewed: [1] })
    })`
  const heartbeat = threadOf(code)
  expect(await heartbeat.ready()).toBe(false)
  const { promise: renewed, resolve: onRenewed } = Promise.withResolvers<void>()
  heartbeat.keep({ ...lease, onRenewed })
  await renewed
  expect(await heartbeat.ready()).toBe(true)
  await heartbeat.close()
})

test('a heartbeat starts no thread before it is needed', async () => {
  const heartbeat = new HeartbeatThread(() => fail('it was started'))
  heartbeat.progress()
  await heartbeat.close()
  await heartbeat.ready()
  expect(heartbeat.failure).toMatchObject({ code: 'closed' })
})

function fail(message: string): never {
  throw new Error(message)
}

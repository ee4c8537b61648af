// Leases with a heartbeat. The heartbeat here renews when a test says so, and time is that of the fake timers.

import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { InstrumentedStore } from '../manager/instrumented-store.fixture.ts'
import { failure } from '../manager/manager-world.fixture.ts'
import { StreamManager, type StreamManagerOptions } from '../manager/stream-manager.ts'
import type { Heartbeat, HeldLease } from '../store/heartbeat.ts'
import { LogError } from '../store/log-error.ts'
import { Memory, memoryStore } from '../stores/memory/memory-store.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] }))
afterEach(() => void vi.useRealTimers())

/** Default durations, in ms. */
const HEARTBEAT_LEASE = 3000
const EVENT_LOOP_LEASE = 30_000

class ManualHeartbeat implements Heartbeat {
  failure: Error | undefined
  readonly leases = new Map<string, HeldLease & { until: number; progress: number }>()
  isReady = Promise.resolve(true)

  ready(): Promise<boolean> {
    return this.isReady
  }

  keep(held: HeldLease) {
    const lease = { ...held, until: Number.NEGATIVE_INFINITY, progress: 0 }
    this.leases.set(held.streamId, lease)
    return {
      get until() {
        return lease.until
      },
      progress: () => void lease.progress++,
      stop: () => void this.leases.delete(held.streamId),
    }
  }

  /** Confirms a renewal of every lease now. */
  beat(): void {
    for (const lease of this.leases.values()) lease.until = performance.now() + lease.ttlMs
  }
}

class HeartbeatWorld {
  readonly heartbeat = new ManualHeartbeat()
  readonly memory = new Memory({ clock: () => Date.now() })
  readonly tap: InstrumentedStore
  readonly failures: string[] = []
  readonly manager: StreamManager

  constructor(options: Partial<StreamManagerOptions> = {}) {
    const store = Object.assign(memoryStore(undefined, this.memory), { heartbeat: this.heartbeat })
    this.tap = new InstrumentedStore(store)
    const onHeartbeatFailed = ({ message }: Error) => void this.failures.push(message)
    this.manager = new StreamManager({ store: this.tap.store, onHeartbeatFailed, ...options })
  }

  writer(streamId = 's') {
    return this.manager.createWriter(streamId, { runId: 'r', agentType: 'assistant' })
  }

  /** How long the lease lasts from now on, in ms. */
  remainingMs(streamId = 's'): number {
    return (this.memory.logs.get(streamId)?.lease?.until ?? 0) - Date.now()
  }
}

const advance = (ms: number) => vi.advanceTimersByTimeAsync(ms)

test('a heartbeat makes the lease short, and the event loop does not renew it', async () => {
  const { tap, heartbeat, ...world } = new HeartbeatWorld()
  const writer = await world.manager.createWriter('s', { runId: 'r', agentType: 'assistant' })
  expect(heartbeat.leases.get('s')).toMatchObject({
    epoch: writer.epoch,
    ttlMs: HEARTBEAT_LEASE,
    maxBlockedMs: 120_000,
  })
  for (let n = 0; n < 20; n++) {
    heartbeat.beat()
    await advance(HEARTBEAT_LEASE / 3)
    expect(writer.isLeaseValid).toBe(true)
  }
  expect(tap.count('renew')).toBe(0)
  expect(heartbeat.leases.get('s')?.progress).toBeGreaterThanOrEqual(20)
  await writer.close()
  expect(heartbeat.leases.size).toBe(0)
})

test('options set the lease and the longest block', async () => {
  const world = new HeartbeatWorld({ leaseMs: 500, maxBlockedMs: 100 })
  await world.writer()
  expect(world.remainingMs()).toBe(500)
  // A block that is shorter than a lease is no reason to end it.
  expect(world.heartbeat.leases.get('s')).toMatchObject({ ttlMs: 500, maxBlockedMs: 500 })
})

test('trusts the lease only until the end that the heartbeat confirmed, also right after a block', async () => {
  const world = new HeartbeatWorld()
  const writer = await world.writer()
  // No timer of the event loop runs meanwhile.
  vi.setSystemTime(Date.now() + 60_000)
  const now = performance.now() + 60_000
  vi.spyOn(performance, 'now').mockImplementation(() => now)
  expect(writer.isLeaseValid).toBe(false)
  world.heartbeat.beat()
  expect(writer.isLeaseValid).toBe(true)
  vi.restoreAllMocks()
})

test('the event loop renews what the heartbeat neglects, before it expires', async () => {
  const world = new HeartbeatWorld()
  const writer = await world.writer()
  for (let n = 0; n < 100; n++) {
    await advance(100)
    expect(writer.isLeaseValid).toBe(true)
  }
  expect(world.heartbeat.failure).toBeUndefined()
  expect(world.tap.count('renew')).toBeGreaterThan(0)
})

test('a writer waits until its lease is certain again, also if only the heartbeat renews it', async () => {
  const world = new HeartbeatWorld()
  const writer = await world.writer()
  world.tap.isDown = true
  await advance(HEARTBEAT_LEASE)
  const valid = writer.whenLeaseValid()
  world.heartbeat.beat()
  world.heartbeat.leases.get('s')?.onRenewed()
  await valid
  expect(writer.isLeaseValid).toBe(true)
})

test('a writer that waits is told of a renewal that the heartbeat did not report', async () => {
  const world = new HeartbeatWorld()
  const writer = await world.writer()
  world.tap.isDown = true
  await advance(HEARTBEAT_LEASE)
  const valid = writer.whenLeaseValid()
  world.heartbeat.beat()
  await advance(HEARTBEAT_LEASE / 3)
  await valid
  expect(writer.isLeaseValid).toBe(true)
})

test('a lease that the heartbeat has lost fences the writer', async () => {
  const world = new HeartbeatWorld()
  const writer = await world.writer()
  world.heartbeat.leases.get('s')?.onLost()
  expect(writer.signal.reason).toMatchObject({ code: 'fenced' })
  expect(await failure(writer.flush())).toBe('fenced')
})

test('the event loop renews longer leases after a failure of the heartbeat, which is reported once', async () => {
  const world = new HeartbeatWorld()
  const writers = [await world.writer('a'), await world.writer('b')]
  world.heartbeat.failure = new Error('no threads')
  await advance(HEARTBEAT_LEASE / 3)
  expect([world.remainingMs('a'), world.remainingMs('b')]).toEqual([EVENT_LOOP_LEASE, EVENT_LOOP_LEASE])
  await world.writer('c')
  expect(world.remainingMs('c')).toBe(EVENT_LOOP_LEASE)
  await advance(2 * EVENT_LOOP_LEASE)
  expect(writers.map(writer => writer.isLeaseValid)).toEqual([true, true])
  expect(world.failures).toEqual(['no threads'])
})

test('a claim does not wait long for a heartbeat that starts slowly, and gets a long lease', async () => {
  const world = new HeartbeatWorld()
  world.heartbeat.isReady = new Promise(() => {})
  const claiming = world.writer()
  await advance(5000)
  await claiming
  expect(world.remainingMs()).toBe(EVENT_LOOP_LEASE)
  const next = world.writer('next')
  await advance(1)
  await next
  world.heartbeat.isReady = Promise.resolve(true)
  await world.writer('last')
  expect(world.remainingMs('last')).toBe(HEARTBEAT_LEASE)
})

test('while the heartbeat has no connection, leases are those of the event loop', async () => {
  const world = new HeartbeatWorld()
  world.heartbeat.isReady = Promise.resolve(false)
  await world.writer('a')
  world.heartbeat.isReady = Promise.resolve(true)
  await world.writer('b')
  expect([world.remainingMs('a'), world.remainingMs('b')]).toEqual([EVENT_LOOP_LEASE, HEARTBEAT_LEASE])
})

test('a lease is renewed while the log is read after the claim, however long that takes', async () => {
  const world = new HeartbeatWorld()
  const reading = world.tap.hold('read', 'after')
  const claiming = world.writer()
  await reading.arrived
  expect([...world.heartbeat.leases.keys()]).toEqual(['s'])
  await advance(2 * HEARTBEAT_LEASE)
  expect(world.remainingMs()).toBeGreaterThan(0)
  reading.open()
  expect((await claiming).isLeaseValid).toBe(true)
})

test('a lease that is lost while the log is read after the claim fences the writer', async () => {
  const world = new HeartbeatWorld()
  const reading = world.tap.hold('read', 'after')
  const claiming = world.writer()
  await reading.arrived
  world.heartbeat.leases.get('s')?.onLost()
  reading.open()
  const writer = await claiming
  expect(writer.signal.reason).toMatchObject({ code: 'fenced' })
  expect(await failure(writer.flush())).toBe('fenced')
})

test('a claim that fails after it was claimed is not renewed any more', async () => {
  const world = new HeartbeatWorld()
  const reading = world.tap.hold('read', 'after')
  const claiming = failure(world.writer())
  await reading.arrived
  const closing = world.manager.close()
  reading.open()
  expect(await claiming).toBe('closed')
  await closing
  expect(world.heartbeat.leases.size).toBe(0)
})

test('a closed store is not reported as a failure of its heartbeat', async () => {
  const world = new HeartbeatWorld()
  await world.writer()
  world.heartbeat.failure = new LogError('closed', 'the store was closed')
  await advance(EVENT_LOOP_LEASE)
  expect(world.failures).toEqual([])
})

test('the lease is long without a heartbeat', async () => {
  const memory = new Memory({ clock: () => Date.now() })
  const manager = new StreamManager({ store: memoryStore(undefined, memory) })
  const writer = await manager.createWriter('s', { runId: 'r', agentType: 'assistant' })
  expect((memory.logs.get('s')?.lease?.until ?? 0) - Date.now()).toBe(EVENT_LOOP_LEASE)
  await writer.close()
})

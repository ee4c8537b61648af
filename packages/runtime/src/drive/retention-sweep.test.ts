import { LogError, type LogStore } from '@millrace/log'
import { describe, expect, test } from 'vitest'
import type { RetentionRule } from '../index.ts'
import { PAGE_INTERVAL_MS, PAGE_SIZE, PASS_INTERVAL_MS, TRIM_INTERVAL_MS } from './retention-sweep.ts'
import { type Process, VirtualCluster } from './virtual-cluster.fixture.ts'

const HOUR_MS = 3_600_000
/** Time in which at least one pass starts and ends. */
const PASS_MS = 2 * PASS_INTERVAL_MS

/** A cluster with one process that sweeps. */
function setUp(retention: RetentionRule, engine?: false) {
  const cluster = new VirtualCluster()
  const sweeping = () => cluster.process(() => [], { retention, ...(engine === false && { engine }) })
  return { cluster, process: sweeping(), sweeping }
}

/** Counts the calls of a method that reach the store. */
function counted(process: Process, method: keyof LogStore): () => number {
  let count = 0
  process.connection.before = call => {
    if (call.method === method) count++
  }
  return () => count
}

/** Creates empty sessions, one ms apart. */
async function createSessions(cluster: VirtualCluster, ...ids: string[]): Promise<void> {
  for (const id of ids) {
    await cluster.manager.createStream(id)
    await cluster.clock.advance(1)
  }
}

/** The sessions that exist. */
async function sessionsOf(cluster: VirtualCluster): Promise<string[]> {
  const { streams } = await cluster.manager.listOldestStreams({ limit: 1000 })
  return streams.map(({ streamId }) => streamId).sort()
}

/** Runs an agent that writes this many entries. */
async function runTo(cluster: VirtualCluster, session: string, runId: string, commits: number): Promise<void> {
  const writer = await cluster.manager.createWriter(session, { runId, agentType: 'clerk' })
  for (let i = 0; i < commits; i++) await writer.commit([])
  await cluster.manager.endStream(session)
  await writer.close()
}

const floorOf = async (cluster: VirtualCluster, session: string) => (await cluster.manager.getInfo(session))?.floor
const headOf = async (cluster: VirtualCluster, session: string) => (await cluster.manager.getInfo(session))?.head ?? 0

describe('idleMs', () => {
  test('removes the sessions of all principals in which nothing happened for this time', async () => {
    const { cluster, process } = setUp({ idleMs: HOUR_MS })
    await cluster.manager.createStream('of-ada', 'ada')
    await createSessions(cluster, 'of-nobody')
    await runTo(cluster, 'ended', 'r1', 1)
    await cluster.clock.advance(HOUR_MS - PASS_MS)
    await createSessions(cluster, 'young')
    expect(await sessionsOf(cluster)).toEqual(['ended', 'of-ada', 'of-nobody', 'young'])
    await cluster.clock.advance(2 * PASS_MS)
    expect(await sessionsOf(cluster)).toEqual(['young'])
    expect(process.logged).toEqual([])
    await process.runtime.close()
  })

  test('law 12: keeps a session with an open, paused or requested run, and a leased one', async () => {
    const { cluster, process } = setUp({ idleMs: HOUR_MS, maxAgeMs: HOUR_MS, maxEntries: 1 })
    const { manager } = cluster
    await manager.createWriter('leased', { runId: 'r1', agentType: 'clerk' })
    const open = await manager.createWriter('open', { runId: 'r1', agentType: 'clerk' })
    await open.commit([])
    const paused = await manager.createWriter('paused', { runId: 'r1', agentType: 'clerk' })
    await paused.commit([{ type: 'tool-approval-request', toolCallId: 'c', approvalId: 'a', input: 1 }])
    await manager.pauseStream('paused')
    await paused.close()
    await manager.createStream('requested')
    await manager.append('requested', 'ada', { type: 'run-requested', runId: 'r1', program: 'agent:other@1' })
    const heads = await Promise.all(['open', 'paused', 'requested'].map(id => headOf(cluster, id)))
    await cluster.clock.advance(3 * HOUR_MS)
    expect(await sessionsOf(cluster)).toEqual(['leased', 'open', 'paused', 'requested'])
    const floors = await Promise.all(['open', 'paused', 'requested'].map(id => floorOf(cluster, id)))
    expect(floors).toEqual([0, 0, 0])
    expect(heads.every(head => head > 0)).toBe(true)
    await manager.close()
    await process.runtime.close()
  })

  test('law 12: keeps a session that gets a request between the list and its removal', async () => {
    const { cluster, process } = setUp({ idleMs: HOUR_MS })
    await createSessions(cluster, 'asked', 'idle')
    let isFirst = true
    process.connection.before = async ({ method }) => {
      if (method !== 'remove' || !isFirst) return
      isFirst = false
      const request = { type: 'run-requested', runId: 'r1', program: 'agent:other@1' } as const
      await cluster.manager.append('asked', 'ada', request)
    }
    await cluster.clock.advance(HOUR_MS + PASS_MS)
    expect(isFirst).toBe(false)
    expect(await sessionsOf(cluster)).toEqual(['asked'])
    expect(process.logged).toEqual([])
    await process.runtime.close()
  })

  test('reads no page behind the first session that is younger', async () => {
    const { cluster, process } = setUp({ idleMs: 10 * HOUR_MS })
    const ids = Array.from({ length: 3 * PAGE_SIZE }, (_, i) => `s${i}`)
    await Promise.all(ids.map(id => cluster.manager.createStream(id)))
    const pages = counted(process, 'listOldest')
    await cluster.clock.advance(10 * PASS_INTERVAL_MS)
    expect(pages()).toBeGreaterThan(5)
    expect(pages()).toBeLessThanOrEqual(11)
    await process.runtime.close()
  })
})

describe('trims', () => {
  test('maxEntries keeps the last entries of each session, and the view', async () => {
    const { cluster, process } = setUp({ maxEntries: 5 })
    await runTo(cluster, 'long', 'r1', 20)
    await runTo(cluster, 'short', 'r1', 1)
    const [view, head] = [await cluster.view('long'), await headOf(cluster, 'long')]
    expect(await headOf(cluster, 'short')).toBeLessThanOrEqual(5)
    await cluster.clock.advance(PASS_MS)
    expect(await floorOf(cluster, 'long')).toBe(head - 5)
    expect(await floorOf(cluster, 'short')).toBe(0)
    expect(await cluster.view('long')).toEqual(view)
    await process.runtime.close()
  })

  test('law 12: an idle session that idleMs must keep is trimmed up to its paused run', async () => {
    const { cluster, process } = setUp({ idleMs: HOUR_MS, maxAgeMs: 2 * HOUR_MS })
    await runTo(cluster, 'paused', 'r1', 20)
    const before = await headOf(cluster, 'paused')
    const paused = await cluster.manager.createWriter('paused', { runId: 'r2', agentType: 'clerk' })
    await paused.commit([{ type: 'tool-approval-request', toolCallId: 'c', approvalId: 'a', input: 1 }])
    await cluster.manager.pauseStream('paused')
    await paused.close()
    await cluster.clock.advance(2 * HOUR_MS + PASS_MS)
    expect(await floorOf(cluster, 'paused')).toBe(before)
    await process.runtime.close()
  })

  test('maxAgeMs drops the older entries of each session', async () => {
    const { cluster, process } = setUp({ maxAgeMs: 5 * HOUR_MS })
    await runTo(cluster, 's', 'r1', 3)
    const head = await headOf(cluster, 's')
    await cluster.clock.advance(4 * HOUR_MS)
    await runTo(cluster, 's', 'r2', 3)
    expect(await floorOf(cluster, 's')).toBe(0)
    await cluster.clock.advance(HOUR_MS + PASS_MS)
    expect(await floorOf(cluster, 's')).toBe(head)
    await cluster.clock.advance(5 * HOUR_MS + PASS_MS)
    expect(await floorOf(cluster, 's')).toBe(await headOf(cluster, 's'))
    await process.runtime.close()
  })

  test('trims a session at most once an hour, and not again while it stays short', async () => {
    const { cluster, process } = setUp({ maxEntries: 5 })
    const trims = counted(process, 'trim')
    for (let i = 0; i < 10; i++) {
      await runTo(cluster, 's', `r${i}`, 10)
      await cluster.clock.advance(PASS_INTERVAL_MS)
    }
    expect(trims()).toBe(1)
    await cluster.clock.advance(TRIM_INTERVAL_MS)
    expect(trims()).toBe(2)
    expect((await headOf(cluster, 's')) - ((await floorOf(cluster, 's')) ?? 0)).toBe(5)
    await cluster.clock.advance(3 * TRIM_INTERVAL_MS)
    expect(trims()).toBe(2)
    await process.runtime.close()
  })
})

describe('a pass', () => {
  test('reads a bounded page per second', async () => {
    const { cluster, process } = setUp({ idleMs: 1 })
    const ids = Array.from({ length: 2 * PAGE_SIZE + 10 }, (_, i) => `s${i}`)
    await Promise.all(ids.map(id => cluster.manager.createStream(id)))
    const counts: number[] = []
    process.connection.after = async ({ method }) => {
      if (method === 'listOldest') counts.push((await sessionsOf(cluster)).length)
    }
    await cluster.clock.advance(PASS_INTERVAL_MS + 2 * PAGE_INTERVAL_MS)
    expect(counts.slice(0, 3)).toEqual([2 * PAGE_SIZE + 10, PAGE_SIZE + 10, 10])
    expect(await sessionsOf(cluster)).toEqual([])
    await process.runtime.close()
  })

  test('starts at most once a minute', async () => {
    const { cluster, process } = setUp({ idleMs: HOUR_MS })
    const passes = counted(process, 'listOldest')
    await cluster.clock.advance(30 * PASS_INTERVAL_MS)
    expect(passes()).toBeLessThanOrEqual(31)
    expect(passes()).toBeGreaterThanOrEqual(19)
    await process.runtime.close()
  })

  test('continues after the error of one session, and logs the errors of a pass once', async () => {
    const { cluster, process } = setUp({ idleMs: HOUR_MS })
    await createSessions(cluster, 'a', 'b', 'c', 'd')
    let removals = 0
    process.connection.before = ({ method }) => {
      if (method !== 'remove' || ![2, 3].includes(++removals)) return
      throw new LogError('too-large', 'it does not fit')
    }
    const removed = async () => (await sessionsOf(cluster)).length === 2
    await cluster.clock.advance(HOUR_MS)
    for (let i = 0; i < 4 * 60 && !(await removed()); i++) await cluster.clock.advance(500)
    expect(await sessionsOf(cluster)).toEqual(['b', 'c'])
    expect(process.logged).toMatchObject([
      { level: 'warn', message: 'failed to apply the retention rule to sessions', cause: { code: 'too-large' } },
    ])
    await cluster.clock.advance(PASS_MS)
    expect(await sessionsOf(cluster)).toEqual([])
    expect(process.logged).toHaveLength(1)
    await process.runtime.close()
  })

  test('ends when the store becomes unavailable, logs it once, backs off and continues later', async () => {
    const { cluster, process } = setUp({ idleMs: HOUR_MS })
    await createSessions(cluster, 'a', 'b', 'c')
    let removals = 0
    process.connection.before = ({ method }) => {
      if (method !== 'remove' || ++removals !== 2) return
      process.connection.isUnavailable = true
    }
    await cluster.clock.advance(HOUR_MS + PASS_MS)
    expect(await sessionsOf(cluster)).toEqual(['b', 'c'])
    const passes = counted(process, 'listOldest')
    await cluster.clock.advance(HOUR_MS)
    const retentionLogs = () => process.logged.filter(({ message }) => message.includes('retention'))
    expect(retentionLogs()).toMatchObject([{ message: 'failed to apply the retention rule' }])
    // A pass every 15 minutes instead of every minute.
    expect(passes()).toBeLessThanOrEqual(7)
    process.connection.isUnavailable = false
    await cluster.clock.advance(16 * PASS_INTERVAL_MS)
    expect(await sessionsOf(cluster)).toEqual([])
    expect(retentionLogs()).toHaveLength(1)
    await process.runtime.close()
  })

  test('can run in several processes at once', async () => {
    const { cluster, process, sweeping } = setUp({ idleMs: 5 * HOUR_MS, maxEntries: 3 })
    const processes = [process, sweeping(), sweeping()]
    const ids = Array.from({ length: 30 }, (_, i) => `s${i}`)
    for (const id of ids) await runTo(cluster, id, 'r1', 10)
    await cluster.clock.advance(3 * PASS_INTERVAL_MS)
    const floors = await Promise.all(ids.map(id => floorOf(cluster, id)))
    const heads = await Promise.all(ids.map(id => headOf(cluster, id)))
    expect(floors).toEqual(heads.map(head => head - 3))
    await cluster.clock.advance(5 * HOUR_MS)
    expect(await sessionsOf(cluster)).toEqual([])
    expect(processes.flatMap(({ logged }) => logged)).toEqual([])
    for (const each of processes) await each.runtime.close()
  })

  test('ends when the runtime closes, and leaves no timer', async () => {
    const { cluster, process } = setUp({ idleMs: 1 })
    const ids = Array.from({ length: PAGE_SIZE + 10 }, (_, i) => `s${i}`)
    await Promise.all(ids.map(id => cluster.manager.createStream(id)))
    const closed = Promise.withResolvers<void>()
    let removals = 0
    process.connection.before = ({ method }) => {
      if (method === 'remove' && ++removals === 5) process.runtime.close().then(closed.resolve, closed.reject)
    }
    await cluster.clock.until(closed.promise)
    expect(await sessionsOf(cluster)).toHaveLength(PAGE_SIZE + 10 - 5)
    expect(process.timers.pendingTimers).toEqual([])
    const between = setUp({ idleMs: 1 })
    await Promise.all(ids.map(id => between.cluster.manager.createStream(id)))
    const pages = counted(between.process, 'listOldest')
    while (pages() === 0) await between.cluster.clock.advance(100)
    await between.process.runtime.close()
    expect(between.process.timers.pendingTimers).toEqual([])
    expect(await sessionsOf(between.cluster)).toHaveLength(10)
  })

  test('does not start in a process that does not drive', async () => {
    const { cluster, process } = setUp({ idleMs: 1 }, false)
    await createSessions(cluster, 's')
    await cluster.clock.advance(HOUR_MS)
    expect(await sessionsOf(cluster)).toEqual(['s'])
    expect(process.timers.pendingTimers).toEqual([])
    await process.runtime.close()
  })
})

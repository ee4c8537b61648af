import { expect, test } from 'vitest'
import { z } from 'zod'
import { type Process, VirtualCluster } from '../drive/virtual-cluster.fixture.ts'
import { agent, scriptedModel, tool } from '../index.ts'
import { SNAPSHOT_BYTES_PER_ENTRY, SNAPSHOT_INTERVAL, SNAPSHOT_MIN_ENTRIES } from './snapshots.ts'

const SESSION = 's'

async function started(cluster: VirtualCluster, name: string): Promise<void> {
  const server = cluster.process(() => [], { engine: false })
  await server.runtime.start({ session: SESSION, runId: 'r1', agent: `agent:${name}@1`, input: 'Hello' })
}

const snapshots = (cluster: VirtualCluster): number[] =>
  (cluster.memory.logs.get(SESSION)?.snapshots ?? []).map(({ sequence }) => sequence).sort((a, b) => a - b)

/** Writes the requested number of lines in one step. */
const teller = agent({
  name: 'teller',
  model: scriptedModel(({ options, lastText }) =>
    options.prompt.at(-1)?.role === 'tool' ? { text: 'told' } : { calls: [{ name: 'tell', input: Number(lastText) }] },
  ),
  tools: [
    tool({
      name: 'tell',
      inputSchema: z.number(),
      execute(lines, context) {
        for (let n = 0; n < lines; n++) context.emit('line', n)
        return 'told'
      },
    }),
  ],
})

const headOf = async (cluster: VirtualCluster): Promise<number> => (await cluster.manager.getInfo(SESSION))?.head ?? 0

test('takes a snapshot at the end of a run once enough entries were added, also the first', async () => {
  const cluster = new VirtualCluster()
  const driver = cluster.process(() => [teller])
  const ends: number[] = []
  for (let turn = 1; turn <= 16; turn++) {
    const run = await driver.runtime.start({ session: SESSION, agent: teller, input: '100' })
    await cluster.waitForEnd(SESSION, run.runId)
    ends.push(await headOf(cluster))
  }
  await cluster.clock.until(driver.runtime.close())
  const wanted: number[] = []
  for (const end of ends) if (end - (wanted.at(-1) ?? 0) >= SNAPSHOT_MIN_ENTRIES) wanted.push(end)
  expect(wanted.length).toBeGreaterThan(2)
  expect(wanted.length).toBeLessThan(5)
  expect(snapshots(cluster)).toEqual(wanted)
  // Another process knows the snapshot that it read, and takes no earlier one.
  const other = cluster.process(() => [teller])
  const taken = Promise.withResolvers<void>()
  other.connection.after = ({ method }) => {
    if (method === 'putSnapshot') taken.resolve()
  }
  const turn = async (lines: string) => {
    const run = await other.runtime.start({ session: SESSION, agent: teller, input: lines })
    await cluster.waitForEnd(SESSION, run.runId)
  }
  await turn('1')
  await turn('1')
  await turn(`${SNAPSHOT_MIN_ENTRIES}`)
  await cluster.clock.until(taken.promise)
  expect(snapshots(cluster)).toEqual([...wanted, await headOf(cluster)])
  // A new session with the same id.
  await cluster.manager.deleteStream(SESSION)
  await turn(`${SNAPSHOT_MIN_ENTRIES}`)
  await cluster.clock.until(other.runtime.close())
  expect(snapshots(cluster)).toEqual([await headOf(cluster)])
})

/** Asks for approval, then ends. */
const asking = agent({
  name: 'asking',
  model: scriptedModel(({ turnAnswers }) =>
    turnAnswers === 0 ? { calls: [{ name: 'look', input: {}, id: 'c1' }] } : { text: 'done' },
  ),
  tools: [tool({ name: 'look', inputSchema: z.object({}), client: true })],
})

test('takes no further snapshot when a run resumes in a long session', async () => {
  const cluster = new VirtualCluster()
  const first = cluster.process(() => [teller])
  const long = await first.runtime.start({ session: SESSION, agent: teller, input: `${SNAPSHOT_INTERVAL}` })
  await cluster.waitForEnd(SESSION, long.runId)
  await cluster.clock.until(first.runtime.close())
  const kept = snapshots(cluster)
  expect(kept.length).toBe(1)
  const { runtime } = cluster.process(() => [asking])
  const run = await runtime.start({ session: SESSION, runId: 'a', agent: asking, input: 'Go.' })
  await cluster.clock.until(run.result())
  await runtime.answer(SESSION, { kind: 'tool-result', id: 'c1', output: 'seen' })
  expect(await cluster.waitForEnd(SESSION, 'a')).toBe('completed')
  await cluster.clock.until(runtime.close())
  expect(snapshots(cluster)).toEqual(kept)
})

test('takes snapshots of a large session less often', async () => {
  const cluster = new VirtualCluster()
  const driver = cluster.process(() => [teller])
  const ends: number[] = []
  for (let turn = 1; turn <= 30; turn++) {
    // A number and filler text.
    const input = `200${' '.repeat(100_000)}`
    const run = await driver.runtime.start({ session: SESSION, agent: teller, input })
    await cluster.waitForEnd(SESSION, run.runId)
    ends.push(await headOf(cluster))
  }
  await cluster.clock.until(driver.runtime.close())
  const kept = (cluster.memory.logs.get(SESSION)?.snapshots ?? []).toSorted((a, b) => a.sequence - b.sequence)
  let last = { sequence: 0, bytes: 0 }
  for (const { sequence, body } of kept) {
    const isDue = (end: number) =>
      end - last.sequence >= Math.max(SNAPSHOT_MIN_ENTRIES, last.bytes / SNAPSHOT_BYTES_PER_ENTRY)
    expect(sequence).toBe(ends.find(isDue))
    last = { sequence, bytes: body.length }
  }
  expect(kept.length).toBeGreaterThan(2)
  expect(kept.length).toBeLessThan((ends.at(-1) ?? 0) / SNAPSHOT_MIN_ENTRIES / 2)
})

/** Steps of a few hundred entries each. */
const chatty = agent({
  name: 'chatty',
  model: scriptedModel(({ answers }) =>
    answers < 4 ? { calls: [{ name: 'tell', input: {}, id: `c${answers}` }] } : { text: 'done' },
  ),
  tools: [
    tool({
      name: 'tell',
      inputSchema: z.object({}),
      execute(_, context) {
        for (let n = 0; n < SNAPSHOT_INTERVAL / 2; n++) context.emit('line', n)
        return 'told'
      },
    }),
  ],
})

test('takes snapshots during a long run, so that a takeover reads few entries', async () => {
  const cluster = new VirtualCluster()
  await started(cluster, 'chatty')
  const driver = cluster.process(() => [chatty])
  await cluster.waitForEnd(SESSION, 'r1')
  await cluster.clock.until(driver.runtime.close())
  const { head = 0 } = (await cluster.manager.getInfo(SESSION)) ?? {}
  const kept = snapshots(cluster)
  expect(head).toBeGreaterThan(2 * SNAPSHOT_INTERVAL)
  expect(kept.length).toBeGreaterThanOrEqual(2)
  expect(head - (kept.at(-1) ?? 0)).toBeLessThan(SNAPSHOT_MIN_ENTRIES)
})

test('logs a failed snapshot, and neither the run nor the next snapshot waits', async () => {
  const cluster = new VirtualCluster()
  const driver: Process = cluster.process(() => [teller])
  const cause = new Error('the disk is full')
  driver.connection.before = ({ method }) => {
    if (method === 'putSnapshot') throw cause
  }
  for (const runId of ['r1', 'r2']) {
    const whenBusy = 'queue'
    await driver.runtime.start({ session: SESSION, runId, agent: teller, input: `${SNAPSHOT_MIN_ENTRIES}`, whenBusy })
  }
  expect(await cluster.waitForEnd(SESSION, 'r1')).toBe('completed')
  expect(await cluster.waitForEnd(SESSION, 'r2')).toBe('completed')
  await cluster.clock.until(driver.runtime.close())
  expect(driver.logged).toEqual([
    { level: 'warn', message: 'failed to take a snapshot', cause },
    { level: 'warn', message: 'failed to take a snapshot', cause },
  ])
  expect(snapshots(cluster)).toEqual([])
})

test('only a shutdown waits for a slow snapshot', async () => {
  const cluster = new VirtualCluster()
  const driver = cluster.process(() => [teller])
  const slow = Promise.withResolvers<void>()
  driver.connection.before = ({ method }) => (method === 'putSnapshot' ? slow.promise : undefined)
  for (const runId of ['r1', 'r2']) {
    const whenBusy = 'queue'
    await driver.runtime.start({ session: SESSION, runId, agent: teller, input: `${SNAPSHOT_MIN_ENTRIES}`, whenBusy })
  }
  expect(await cluster.waitForEnd(SESSION, 'r2')).toBe('completed')
  let isClosed = false
  const closed = driver.runtime.close().then(() => {
    isClosed = true
  })
  await cluster.clock.advance(1000)
  expect(isClosed).toBe(false)
  slow.resolve()
  await cluster.clock.until(closed)
  expect(snapshots(cluster).at(-1)).toBe(await headOf(cluster))
})

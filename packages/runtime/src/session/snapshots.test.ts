import { expect, test } from 'vitest'
import { z } from 'zod'
import { type Process, VirtualCluster } from '../drive/virtual-processes.fixture.ts'
import { agent, scriptedModel, tool } from '../index.ts'
import { SNAPSHOT_BYTES_PER_ENTRY, SNAPSHOT_INTERVAL, SNAPSHOT_MIN_ENTRIES } from './snapshots.ts'

const SESSION = 's'

async function started(stage: VirtualCluster, of: string): Promise<void> {
  const server = stage.process(() => [], { engine: false })
  await server.runtime.start({ session: SESSION, runId: 'r1', agent: `agent:${of}@1`, input: 'Hello' })
}

const snapshots = (stage: VirtualCluster): number[] =>
  (stage.memory.logs.get(SESSION)?.snapshots ?? []).map(({ sequence }) => sequence).sort((a, b) => a - b)

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

const headOf = async (stage: VirtualCluster): Promise<number> => (await stage.manager.getInfo(SESSION))?.head ?? 0

test('takes a snapshot at the end of a run once enough entries were added, also the first', async () => {
  const stage = new VirtualCluster()
  const driver = stage.process(() => [teller])
  const ends: number[] = []
  for (let turn = 1; turn <= 16; turn++) {
    const run = await driver.runtime.start({ session: SESSION, agent: teller, input: '100' })
    await stage.ended(SESSION, run.runId)
    ends.push(await headOf(stage))
  }
  await stage.clock.until(driver.runtime.close())
  const wanted: number[] = []
  for (const end of ends) if (end - (wanted.at(-1) ?? 0) >= SNAPSHOT_MIN_ENTRIES) wanted.push(end)
  expect(wanted.length).toBeGreaterThan(2)
  expect(wanted.length).toBeLessThan(5)
  expect(snapshots(stage)).toEqual(wanted)
  // Another process knows the snapshot that it read, and takes no earlier one.
  const other = stage.process(() => [teller])
  const taken = Promise.withResolvers<void>()
  other.connection.after = ({ method }) => {
    if (method === 'putSnapshot') taken.resolve()
  }
  const turn = async (lines: string) => {
    const run = await other.runtime.start({ session: SESSION, agent: teller, input: lines })
    await stage.ended(SESSION, run.runId)
  }
  await turn('1')
  await turn('1')
  await turn(`${SNAPSHOT_MIN_ENTRIES}`)
  await stage.clock.until(taken.promise)
  expect(snapshots(stage)).toEqual([...wanted, await headOf(stage)])
  // A new session with the same id.
  await stage.manager.deleteStream(SESSION)
  await turn(`${SNAPSHOT_MIN_ENTRIES}`)
  await stage.clock.until(other.runtime.close())
  expect(snapshots(stage)).toEqual([await headOf(stage)])
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
  const stage = new VirtualCluster()
  const first = stage.process(() => [teller])
  const long = await first.runtime.start({ session: SESSION, agent: teller, input: `${SNAPSHOT_INTERVAL}` })
  await stage.ended(SESSION, long.runId)
  await stage.clock.until(first.runtime.close())
  const kept = snapshots(stage)
  expect(kept.length).toBe(1)
  const { runtime } = stage.process(() => [asking])
  const run = await runtime.start({ session: SESSION, runId: 'a', agent: asking, input: 'Go.' })
  await stage.clock.until(run.result())
  await runtime.answer(SESSION, { kind: 'tool-result', id: 'c1', output: 'seen' })
  expect(await stage.ended(SESSION, 'a')).toBe('completed')
  await stage.clock.until(runtime.close())
  expect(snapshots(stage)).toEqual(kept)
})

test('takes snapshots of a large session less often', async () => {
  const stage = new VirtualCluster()
  const driver = stage.process(() => [teller])
  const ends: number[] = []
  for (let turn = 1; turn <= 30; turn++) {
    // A number and filler text.
    const input = `200${' '.repeat(100_000)}`
    const run = await driver.runtime.start({ session: SESSION, agent: teller, input })
    await stage.ended(SESSION, run.runId)
    ends.push(await headOf(stage))
  }
  await stage.clock.until(driver.runtime.close())
  const kept = (stage.memory.logs.get(SESSION)?.snapshots ?? []).toSorted((a, b) => a.sequence - b.sequence)
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
  const stage = new VirtualCluster()
  await started(stage, 'chatty')
  const driver = stage.process(() => [chatty])
  await stage.ended(SESSION, 'r1')
  await stage.clock.until(driver.runtime.close())
  const { head = 0 } = (await stage.manager.getInfo(SESSION)) ?? {}
  const kept = snapshots(stage)
  expect(head).toBeGreaterThan(2 * SNAPSHOT_INTERVAL)
  expect(kept.length).toBeGreaterThanOrEqual(2)
  expect(head - (kept.at(-1) ?? 0)).toBeLessThan(SNAPSHOT_MIN_ENTRIES)
})

test('logs a failed snapshot, and neither the run nor the next snapshot waits', async () => {
  const stage = new VirtualCluster()
  const driver: Process = stage.process(() => [teller])
  const cause = new Error('the disk is full')
  driver.connection.before = ({ method }) => {
    if (method === 'putSnapshot') throw cause
  }
  for (const runId of ['r1', 'r2']) {
    const whenBusy = 'queue'
    await driver.runtime.start({ session: SESSION, runId, agent: teller, input: `${SNAPSHOT_MIN_ENTRIES}`, whenBusy })
  }
  expect(await stage.ended(SESSION, 'r1')).toBe('completed')
  expect(await stage.ended(SESSION, 'r2')).toBe('completed')
  await stage.clock.until(driver.runtime.close())
  expect(driver.logged).toEqual([
    { level: 'warn', message: 'failed to take a snapshot', cause },
    { level: 'warn', message: 'failed to take a snapshot', cause },
  ])
  expect(snapshots(stage)).toEqual([])
})

test('only a shutdown waits for a slow snapshot', async () => {
  const stage = new VirtualCluster()
  const driver = stage.process(() => [teller])
  const slow = Promise.withResolvers<void>()
  driver.connection.before = ({ method }) => (method === 'putSnapshot' ? slow.promise : undefined)
  for (const runId of ['r1', 'r2']) {
    const whenBusy = 'queue'
    await driver.runtime.start({ session: SESSION, runId, agent: teller, input: `${SNAPSHOT_MIN_ENTRIES}`, whenBusy })
  }
  expect(await stage.ended(SESSION, 'r2')).toBe('completed')
  let isClosed = false
  const closed = driver.runtime.close().then(() => {
    isClosed = true
  })
  await stage.clock.advance(1000)
  expect(isClosed).toBe(false)
  slow.resolve()
  await stage.clock.until(closed)
  expect(snapshots(stage).at(-1)).toBe(await headOf(stage))
})

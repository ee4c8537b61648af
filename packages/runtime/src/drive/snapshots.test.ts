import { expect, test } from 'vitest'
import { z } from 'zod'
import { agent, scriptedModel, tool } from '../index.ts'
import { Calls, program } from './program.fixture.ts'
import { SNAPSHOT_EVERY } from './snapshots.ts'
import { type Process, Stage } from './stage.fixture.ts'

const SESSION = 's'

async function started(stage: Stage, of: string): Promise<void> {
  const server = stage.process(() => [], { engine: false })
  await server.runtime.start({ session: SESSION, runId: 'r1', agent: `agent:${of}@1`, input: 'Hello' })
}

const snapshots = (stage: Stage): number[] =>
  (stage.memory.logs.get(SESSION)?.snapshots ?? []).map(({ sequence }) => sequence).sort((a, b) => a - b)

test('a session gets a snapshot at the end of each run', async () => {
  const stage = new Stage()
  await started(stage, 'helper')
  const driver = stage.process(timers => [program(timers, new Calls())])
  await stage.ended(SESSION, 'r1')
  await stage.clock.until(driver.runtime.close())
  expect(snapshots(stage)).toEqual([(await stage.manager.getInfo(SESSION))?.head])
})

/** Steps of some hundred entries each. */
const chatty = agent({
  name: 'chatty',
  model: scriptedModel(({ answers }) =>
    answers < 4 ? { calls: [{ name: 'tell', input: {}, id: `c${answers}` }] } : { text: 'done' },
  ),
  tools: [
    tool({
      name: 'tell',
      input: z.object({}),
      execute(_, context) {
        for (let n = 0; n < SNAPSHOT_EVERY / 2; n++) context.emit('line', n)
        return 'told'
      },
    }),
  ],
})

test('a long run gets snapshots on the way, which bound what whoever takes over has to read', async () => {
  const stage = new Stage()
  await started(stage, 'chatty')
  const driver = stage.process(() => [chatty])
  await stage.ended(SESSION, 'r1')
  await stage.clock.until(driver.runtime.close())
  const { head = 0 } = (await stage.manager.getInfo(SESSION)) ?? {}
  const kept = snapshots(stage)
  expect(head).toBeGreaterThan(2 * SNAPSHOT_EVERY)
  expect(kept.length).toBeGreaterThanOrEqual(2)
  expect(kept.at(-1)).toBe(head)
})

test('a snapshot that fails is said to the logger, and neither stops a run nor keeps the next one waiting', async () => {
  const stage = new Stage()
  await started(stage, 'helper')
  const driver: Process = stage.process(timers => [program(timers, new Calls())])
  const cause = new Error('the disk is full')
  driver.wire.before = ({ method }) => {
    if (method === 'putSnapshot') throw cause
  }
  const second = { session: SESSION, runId: 'r2', agent: 'helper', input: 'And?', whenBusy: 'queue' } as const
  await driver.runtime.start(second)
  expect(await stage.ended(SESSION, 'r1')).toBe('completed')
  expect(await stage.ended(SESSION, 'r2')).toBe('completed')
  await stage.clock.until(driver.runtime.close())
  expect(driver.said).toEqual([
    { level: 'warn', message: 'a session got no snapshot', cause },
    { level: 'warn', message: 'a session got no snapshot', cause },
  ])
  expect(snapshots(stage)).toEqual([])
})

test('a snapshot that takes long is waited for by nobody but a shutdown', async () => {
  const stage = new Stage()
  await started(stage, 'helper')
  const driver = stage.process(timers => [program(timers, new Calls())])
  const slow = Promise.withResolvers<void>()
  driver.wire.before = ({ method }) => (method === 'putSnapshot' ? slow.promise : undefined)
  await driver.runtime.start({ session: SESSION, runId: 'r2', agent: 'helper', input: 'And?', whenBusy: 'queue' })
  expect(await stage.ended(SESSION, 'r2')).toBe('completed')
  let isClosed = false
  const closed = driver.runtime.close().then(() => {
    isClosed = true
  })
  await stage.clock.advance(1000)
  expect(isClosed).toBe(false)
  slow.resolve()
  await stage.clock.until(closed)
  expect(snapshots(stage).at(-1)).toBe((await stage.manager.getInfo(SESSION))?.head)
})

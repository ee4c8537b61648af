import { expect, test } from 'vitest'
import { StreamManager } from '../../manager/stream-manager.ts'
import { memoryStore } from '../../stores/memory/memory-store.ts'
import { SharedDriverState } from './drive-run.fixture.ts'

test('a grant releases all runs of the process that wait for it', async () => {
  const plan = { seed: 1, asks: 0, leaves: false, bulk: 20 }
  let steps = 0
  let reached = () => {}
  const tenth = new Promise<void>(resolve => {
    reached = resolve
  })
  const mill = new SharedDriverState(new StreamManager({ store: memoryStore() }), 'p1', plan, async () => {
    if (++steps === 10) reached()
  })
  for (let n = 0; n < 8; n++) await mill.turn()
  let lost = 0
  const waiting = [mill.turn(), mill.turn()].map(turn => turn.then(() => lost++))
  await tenth
  await new Promise(resolve => setImmediate(resolve))
  expect(lost).toBe(0)
  mill.grant(2)
  await Promise.all(waiting)
  expect(lost).toBe(2)
})

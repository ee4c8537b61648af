import { expect, test } from 'vitest'
import { StreamManager } from '../../manager/stream-manager.ts'
import { memoryStore } from '../../stores/memory/memory-store.ts'
import { SharedDriverState } from './drive-run.fixture.ts'

test('a grant releases all runs of the process that wait for it', async () => {
  const plan = { seed: 1, questionRate: 0, releasesWhileWaiting: false, outputLength: 20 }
  let steps = 0
  let reached = () => {}
  const tenth = new Promise<void>(resolve => {
    reached = resolve
  })
  const shared = new SharedDriverState(new StreamManager({ store: memoryStore() }), 'p1', plan, async () => {
    if (++steps === 10) reached()
  })
  for (let n = 0; n < 8; n++) await shared.waitForGrant()
  let released = 0
  const waiting = [shared.waitForGrant(), shared.waitForGrant()].map(wait => wait.then(() => released++))
  await tenth
  await new Promise(resolve => setImmediate(resolve))
  expect(released).toBe(0)
  shared.grant(2)
  await Promise.all(waiting)
  expect(released).toBe(2)
})

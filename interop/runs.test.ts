import { catalogue } from '@millrace/protocol'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { recordRun, scenarios } from './recorded-runs.fixture.ts'

/** Chunks that no reader of a run receives, with the reason. lossless.test.ts covers them with random chunks. */
const NOT_SENT: ReadonlySet<string> = new Set([
  // It requests the run and so precedes it.
  'run-requested',
  // The title of a session belongs to no run.
  'session-info',
  // Internal, for drivers and observers.
  'hook-completed',
  'run-context',
  'run-notified',
])

test('the random runs contain every chunk type, streamed texts, and replaced turns', async () => {
  const counts = new Map<string, number>()
  const count = (name: string) => counts.get(name) ?? 0
  for (const scenario of fc.sample(scenarios, { numRuns: 150, seed: 1 })) {
    const { live, before } = await recordRun(scenario)
    const types = live.map(({ chunk }) => (chunk.type.startsWith('data-') ? 'data-*' : chunk.type))
    for (const name of [...types, ...(before.messages.length > 0 ? ['before'] : [])]) counts.set(name, count(name) + 1)
  }
  const sentTypes = Object.keys(catalogue).filter(type => !NOT_SENT.has(type))
  expect(
    [...sentTypes, 'data-*'].filter(type => count(type) === 0),
    'write these types in programs.fixture.ts, or list them in NOT_SENT with the reason',
  ).toEqual([])
  expect([...NOT_SENT].filter(type => count(type) > 0)).toEqual([])
  for (const kind of ['text', 'reasoning', 'tool-input'])
    expect(count(`${kind}-delta`) / count(`${kind}-start`)).toBeGreaterThan(1.3)
  expect(count('before')).toBeGreaterThan(10)
})

import { catalogue } from '@millrace/protocol'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { recorded, scenarios } from './runs.fixture.ts'

/** What no reader of a run is told by it, and why; that every dialect keeps these too is shown by chunks in any order. */
const UNTOLD: ReadonlySet<string> = new Set([
  // It asks for the run, and so lies before it.
  'run-requested',
  // What a session is called is of no run.
  'session-info',
  // These are internal: for those who drive, and for observers.
  'hook-completed',
  'run-context',
  'run-notified',
])

test('the runs by chance say all that a run can say, texts piece by piece, and in places that were said before', async () => {
  const counts = new Map<string, number>()
  const count = (what: string) => counts.get(what) ?? 0
  for (const scenario of fc.sample(scenarios, { numRuns: 150, seed: 1 })) {
    const { live, before } = await recorded(scenario)
    const types = live.map(({ chunk }) => (chunk.type.startsWith('data-') ? 'data-*' : chunk.type))
    for (const what of [...types, ...(before.messages.length > 0 ? ['before'] : [])]) counts.set(what, count(what) + 1)
  }
  const said = Object.keys(catalogue).filter(type => !UNTOLD.has(type))
  expect([...said, 'data-*'].filter(type => count(type) === 0)).toEqual([])
  expect([...UNTOLD].filter(type => count(type) > 0)).toEqual([])
  for (const kind of ['text', 'reasoning', 'tool-input'])
    expect(count(`${kind}-delta`) / count(`${kind}-start`)).toBeGreaterThan(1.3)
  expect(count('before')).toBeGreaterThan(10)
})

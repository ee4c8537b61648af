import { expect, test } from 'vitest'
import type { Fault } from './fault-log.ts'
import { faultName, faultOutcome, formatMs, formatSequences } from './format-fault.ts'

const fault: Fault = { id: 1, name: 'drop', time: 0, head: 0, state: 'open' }

test('formats faults and their outcomes', () => {
  expect(formatMs(240)).toBe('240 ms')
  expect(formatMs(1234)).toBe('1.2 s')
  expect(faultName(fault)).toBe('Dropped connection')
  expect(faultName({ ...fault, name: 'delay', ms: 300 })).toBe('Delayed this tab by 300 ms')
  expect(faultName({ ...fault, name: 'delay', ms: 0 })).toBe('Removed the delay')
  expect(faultOutcome(fault)).toBe('reconnecting')
  const killed: Fault = { ...fault, name: 'kill-worker', isLeaseHeld: true }
  const lease = '; the run continues when the lease of the killed worker expires'
  expect(faultOutcome(killed)).toBe(`waiting for a new worker${lease}`)
  const another = { state: 'done', outcome: 'new worker, pid 21', tookMs: 1600 } as const
  expect(faultOutcome({ ...killed, ...another })).toBe(`recovered in 1.6 s, new worker, pid 21${lease}`)
  expect(faultOutcome({ ...killed, ...another, isLeaseHeld: false })).toBe('recovered in 1.6 s, new worker, pid 21')
  expect(faultOutcome({ ...fault, state: 'done', outcome: 'reconnected', tookMs: 1200 })).toBe(
    'recovered in 1.2 s, reconnected',
  )
  expect(faultOutcome({ ...fault, state: 'done', outcome: 'no open stream', tookMs: 4001 })).toBe('no open stream')
  expect(faultOutcome({ ...fault, state: 'rejected', outcome: 'too many' })).toBe('rejected: too many')
})

test('formats sequences as ranges, up to a limit', () => {
  expect(formatSequences([])).toBe('')
  expect(formatSequences([4, 5, 6, 9])).toBe('4–6, 9')
  expect(formatSequences([1, 3, 5, 7], 2)).toBe('1, 3 and 2 more')
})

import { expect, test } from 'vitest'
import type { Fault } from './fault-log.ts'
import { nameOf, outcomeWords, passed, sequencesOf } from './words.ts'

const fault: Fault = { id: 1, name: 'drop', time: 0, head: 0, state: 'under-way' }

test('what was done and what came of it', () => {
  expect(passed(240)).toBe('240 ms')
  expect(passed(1234)).toBe('1.2 s')
  expect(nameOf(fault)).toBe('Dropped the connection')
  expect(nameOf({ ...fault, name: 'delay', ms: 300 })).toBe('Delayed this tab by 300 ms')
  expect(nameOf({ ...fault, name: 'delay', ms: 0 })).toBe('Took the delay off')
  expect(outcomeWords(fault)).toBe('waiting until it is connected again')
  const killed: Fault = { ...fault, name: 'kill-worker', isLeaseHeld: true }
  const lease = '; the run goes on once the lease of the killed one has run out'
  expect(outcomeWords(killed)).toBe(`waiting until another is started${lease}`)
  const another = { state: 'over', words: 'another is up, pid 21', tookMs: 1600 } as const
  expect(outcomeWords({ ...killed, ...another })).toBe(`back after 1.6 s, another is up, pid 21${lease}`)
  expect(outcomeWords({ ...killed, ...another, isLeaseHeld: false })).toBe('back after 1.6 s, another is up, pid 21')
  expect(outcomeWords({ ...fault, state: 'over', words: 'connected again', tookMs: 1200 })).toBe(
    'back after 1.2 s, connected again',
  )
  expect(outcomeWords({ ...fault, state: 'over', words: 'nothing was open', tookMs: 4001 })).toBe('nothing was open')
  expect(outcomeWords({ ...fault, state: 'refused', words: 'too many' })).toBe('refused: too many')
})

test('sequences are named, neighbours together, and not without end', () => {
  expect(sequencesOf([])).toBe('')
  expect(sequencesOf([4, 5, 6, 9])).toBe('4–6, 9')
  expect(sequencesOf([1, 3, 5, 7], 2)).toBe('1, 3 and 2 more places')
})

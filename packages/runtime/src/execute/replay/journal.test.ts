import fc from 'fast-check'
import { expect, test } from 'vitest'
import { multiplied } from '../../../../../scripts/faults/campaign.ts'
import { keyOf } from '../../session/key.ts'
import { type HookRecord, Journal, positionIdOf } from './journal.ts'

const RUNS = multiplied(200)

const record = (hookId: string, value: string | number | undefined): HookRecord => ({
  hookId,
  hook: 'x',
  result: { ...(value !== undefined && { value }) },
})

test('groups records by execution and separates the scopes of nested workflows', () => {
  const records = [
    record(positionIdOf(''), 'here'),
    record(positionIdOf('call:'), 'there'),
    record('state/workflow%3Ak', 1),
    record('call:state/workflow%3Ak', 2),
    record('1.a.1/useStep:s.1', 3),
    record('1.a.1/useReason:r.1/1.1', 4),
    record('call:1.a.1/useStep:s.1', 5),
    record('1.b.1', undefined),
  ]
  const journal = new Journal(records, '')
  expect(journal.position).toBe('here')
  expect(journal.state.under('workflow:')).toEqual({ k: 1 })
  expect([...journal.recordsOf('1.a.1').values()].map(({ result }) => result.value)).toEqual([3, 4])
  expect([journal.endOf('1.b.1'), journal.endOf('1.a.1')]).toEqual([{}, undefined])
  const other = new Journal(records, 'call:')
  expect(other.position).toBe('there')
  expect(other.state.under('workflow:')).toEqual({ k: 2 })
  expect([...other.recordsOf('1.a.1').values()].map(({ result }) => result.value)).toEqual([5])
  other.forget('1.a.1')
  expect(other.recordsOf('1.a.1').size).toBe(0)
})

test('restores state under any key', () => {
  const letters = fc.constantFrom('a', '/', ':', '%', '%ud800', '\ud800', '\udc00', 'ß', ' ', '')
  const key = fc.array(letters, { minLength: 1, maxLength: 6 }).map(parts => `workflow:${parts.join('')}`)
  fc.assert(
    fc.property(fc.uniqueArray(key, { maxLength: 5 }), keys => {
      const { state } = new Journal(
        keys.map((name, index) => record(`state/${keyOf(name)}`, index)),
        '',
      )
      expect(keys.map(name => state.read(name))).toEqual(keys.map((_, index) => index))
    }),
    { numRuns: RUNS },
  )
})

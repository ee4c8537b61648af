import { expect, test } from 'vitest'
import { CheckBudget } from './check-budget.ts'

/** A budget of 2 s per 10 s, and its clock. */
function budgetAt() {
  const clock = { now: 1000 }
  return { clock, budget: new CheckBudget(2000, () => clock.now) }
}

test('rejects a principal that has used up its time, until the window has room', () => {
  const { clock, budget } = budgetAt()
  budget.charge('ann', 1999)
  budget.assertHasRoom('ann')
  budget.charge('ann', 251)
  expect(() => budget.assertHasRoom('ann')).toThrow(
    expect.objectContaining({
      code: 'checks_limit',
      message: 'checks of answers: expected at most 2000 ms per 10 s: retry after 2 s',
      retryable: true,
      retryAfterMs: 1255,
    }),
  )
  clock.now += 1255
  budget.assertHasRoom('ann')
})

test('affects no other principal', () => {
  const { budget } = budgetAt()
  budget.charge('ann', 10_000)
  budget.charge(undefined, 10_000)
  for (const principal of ['ann', undefined]) expect(() => budget.assertHasRoom(principal)).toThrow('retry after')
  budget.assertHasRoom('bob')
})

test('is full again after the window, and never more than full', () => {
  const { clock, budget } = budgetAt()
  budget.charge('ann', 2000)
  clock.now += 1_000_000
  budget.charge('ann', 2000)
  expect(() => budget.assertHasRoom('ann')).toThrow('retry after 1 s')
})

test('law 8: keeps a bounded number of principals', () => {
  const { budget } = budgetAt()
  budget.charge('first', 5000)
  for (let n = 1; n < 10_000; n++) budget.charge(`${n}`, 5000)
  expect(() => budget.assertHasRoom('first')).toThrow('retry after')
  // Now the least recently used one is another.
  budget.charge('last', 5000)
  budget.assertHasRoom('1')
  for (const principal of ['first', '2', 'last']) expect(() => budget.assertHasRoom(principal)).toThrow('retry after')
})

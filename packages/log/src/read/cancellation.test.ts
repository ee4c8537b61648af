import { expect, it } from 'vitest'
import { Cancellation } from './cancellation.ts'

it('rejects each waiter once with the reason, unless it has cancelled', async () => {
  const leaving = new Cancellation()
  const reasons: unknown[] = []
  leaving.onCancel(why => reasons.push(['first', why]))
  leaving.onCancel(why => reasons.push(['second', why]))()
  expect(() => leaving.throwIfCancelled()).not.toThrow()
  leaving.cancel('closed')
  leaving.cancel('again')
  expect(reasons).toEqual([['first', 'closed']])
  expect(() => leaving.throwIfCancelled()).toThrow('closed')
  expect(await new Promise(resolve => leaving.onCancel(resolve))).toBe('closed')
})

import { expect, it } from 'vitest'
import { Leaving } from './cancellation.ts'

it('who waits is told once, why, unless they called it off', async () => {
  const leaving = new Leaving()
  const told: unknown[] = []
  leaving.wait(why => told.push(['first', why]))
  leaving.wait(why => told.push(['second', why]))()
  expect(() => leaving.mustBeHere()).not.toThrow()
  leaving.leave('closed')
  leaving.leave('again')
  expect(told).toEqual([['first', 'closed']])
  expect(() => leaving.mustBeHere()).toThrow('closed')
  expect(await new Promise(resolve => leaving.wait(resolve))).toBe('closed')
})

import { expect, test, vi } from 'vitest'
import { invokeCallback } from './callbacks.ts'

test('what a callback throws, or what anything that it returns is rejected with, is printed', async () => {
  const printed: unknown[] = []
  const print = vi.spyOn(console, 'error').mockImplementation((_, error) => void printed.push(error))
  invokeCallback(() => {
    throw 'thrown'
  }, 1)
  invokeCallback(() => Promise.reject('rejected'), 1)
  // biome-ignore lint/suspicious/noThenProperty: a promise of somebody else's making is just that.
  invokeCallback(() => ({ then: (_: unknown, reject: (why: string) => void) => reject('a promise of their own') }), 1)
  invokeCallback(undefined, 1)
  await expect.poll(() => printed).toEqual(['thrown', 'rejected', 'a promise of their own'])
  print.mockRestore()
})

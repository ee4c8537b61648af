import { expect, test, vi } from 'vitest'
import { invokeCallback } from './callbacks.ts'

test('logs what a callback throws, and what its promise or thenable rejects with', async () => {
  const logged: unknown[] = []
  const spy = vi.spyOn(console, 'error').mockImplementation((_, error) => void logged.push(error))
  invokeCallback(() => {
    throw 'thrown'
  }, 1)
  invokeCallback(() => Promise.reject('rejected'), 1)
  // biome-ignore lint/suspicious/noThenProperty: tests a promise of another library.
  invokeCallback(() => ({ then: (_: unknown, reject: (reason: string) => void) => reject('thenable') }), 1)
  invokeCallback(undefined, 1)
  await expect.poll(() => logged).toEqual(['thrown', 'rejected', 'thenable'])
  spy.mockRestore()
})

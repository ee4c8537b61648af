import { expect, test } from 'vitest'
import { unlessAborted } from './unless-aborted.ts'

test('settles as the promise does and removes its listener from the signal', async () => {
  const { signal } = new AbortController()
  const left: string[] = []
  signal.removeEventListener = (type: string) => void left.push(type)
  expect(await unlessAborted(Promise.resolve(1), signal)).toBe(1)
  await expect(unlessAborted(Promise.reject(new Error('no')), signal)).rejects.toThrow('no')
  expect(left).toEqual(['abort', 'abort'])
})

test('rejects on abort without waiting, and ignores a later rejection of the promise', async () => {
  const controller = new AbortController()
  const { promise, reject } = Promise.withResolvers<never>()
  const waiting = unlessAborted(promise, controller.signal)
  controller.abort(new Error('stop'))
  await expect(waiting).rejects.toThrow('stop')
  reject(new Error('late'))
  await expect(unlessAborted(new Promise(() => {}), controller.signal)).rejects.toThrow('stop')
})

import { expect, test } from 'vitest'
import { unlessAborted } from './abort.ts'

test('what comes of something is what it comes to, and nothing is left on the signal', async () => {
  const { signal } = new AbortController()
  const left: string[] = []
  signal.removeEventListener = (type: string) => void left.push(type)
  expect(await unlessAborted(Promise.resolve(1), signal)).toBe(1)
  await expect(unlessAborted(Promise.reject(new Error('no')), signal)).rejects.toThrow('no')
  expect(left).toEqual(['abort', 'abort'])
})

test('what does not end is not waited for, and what it throws later is nobody’s', async () => {
  const controller = new AbortController()
  const { promise, reject } = Promise.withResolvers<never>()
  const waiting = unlessAborted(promise, controller.signal)
  controller.abort(new Error('stop'))
  await expect(waiting).rejects.toThrow('stop')
  reject(new Error('late'))
  await expect(unlessAborted(new Promise(() => {}), controller.signal)).rejects.toThrow('stop')
})

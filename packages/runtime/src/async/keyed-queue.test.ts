import { LogError } from '@millrace/log'
import { describe, expect, test } from 'vitest'
import { gate } from '../api/test-runtime.fixture.ts'
import { isUnavailable } from '../session/log-errors.ts'
import { KeyedQueue } from './keyed-queue.ts'

describe('KeyedQueue', () => {
  test('runs tasks of one key in order, and of several keys in parallel', async () => {
    const queue = new KeyedQueue()
    const blocker = gate()
    const events: string[] = []
    const tasks = [1, 2, 3].map(n =>
      queue.run('a', async () => {
        events.push(`a${n} begins`)
        await blocker.opened
        events.push(`a${n} ends`)
        return n
      }),
    )
    await queue.run('b', async () => events.push('b'))
    expect(events).toEqual(['a1 begins', 'b'])
    blocker.open()
    expect(await Promise.all(tasks)).toEqual([1, 2, 3])
    expect(events.slice(2)).toEqual(['a1 ends', 'a2 begins', 'a2 ends', 'a3 begins', 'a3 ends'])
    expect(queue.size).toBe(0)
  })

  test('runs the next task after a failure', async () => {
    const queue = new KeyedQueue()
    const failed = queue.run('a', () => Promise.reject(new Error('no')))
    const next = queue.run('a', async () => 'yes')
    await expect(failed).rejects.toThrow('no')
    expect(await next).toBe('yes')
    expect(queue.size).toBe(0)
  })

  test('fails all waiting tasks after a shared error', async () => {
    const queue = new KeyedQueue(isUnavailable)
    let calls = 0
    const ask = () => {
      calls++
      return Promise.reject(new LogError('unavailable', 'gone'))
    }
    const all = await Promise.allSettled([1, 2, 3].map(() => queue.run('a', ask)))
    expect(all.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
    expect(calls).toBe(1)
    expect(queue.size).toBe(0)
    expect(await queue.run('a', async () => 'back')).toBe('back')
  })
})

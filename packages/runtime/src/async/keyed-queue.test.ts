import { LogError } from '@millrace/log'
import { describe, expect, test } from 'vitest'
import { gate } from '../api/test-runtime.fixture.ts'
import { isUnavailable } from '../session/log-errors.ts'
import { KeyedQueue } from './keyed-queue.ts'

describe('turns', () => {
  test('run one after the other for a key, and in parallel for several', async () => {
    const turns = new KeyedQueue()
    const held = gate()
    const did: string[] = []
    const tasks = [1, 2, 3].map(n =>
      turns.run('a', async () => {
        did.push(`a${n} begins`)
        await held.opened
        did.push(`a${n} ends`)
        return n
      }),
    )
    await turns.run('b', async () => did.push('b'))
    expect(did).toEqual(['a1 begins', 'b'])
    held.open()
    expect(await Promise.all(tasks)).toEqual([1, 2, 3])
    expect(did.slice(2)).toEqual(['a1 ends', 'a2 begins', 'a2 ends', 'a3 begins', 'a3 ends'])
    expect(turns.size).toBe(0)
  })

  test('continue after a failure', async () => {
    const turns = new KeyedQueue()
    const failed = turns.run('a', () => Promise.reject(new Error('no')))
    const next = turns.run('a', async () => 'yes')
    await expect(failed).rejects.toThrow('no')
    expect(await next).toBe('yes')
    expect(turns.size).toBe(0)
  })

  test('fail together after a shared error', async () => {
    const turns = new KeyedQueue(isUnavailable)
    let calls = 0
    const ask = () => {
      calls++
      return Promise.reject(new LogError('unavailable', 'gone'))
    }
    const all = await Promise.allSettled([1, 2, 3].map(() => turns.run('a', ask)))
    expect(all.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
    expect(calls).toBe(1)
    expect(turns.size).toBe(0)
    expect(await turns.run('a', async () => 'back')).toBe('back')
  })
})

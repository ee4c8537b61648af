import { LogError } from '@millrace/log'
import { describe, expect, test } from 'vitest'
import { KeyedQueue } from './keyed-queue.ts'
import { gate } from './test-runtime.fixture.ts'

describe('turns', () => {
  test('are taken one after the other under a name, and at once under several', async () => {
    const turns = new KeyedQueue()
    const held = gate()
    const did: string[] = []
    const own = [1, 2, 3].map(n =>
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
    expect(await Promise.all(own)).toEqual([1, 2, 3])
    expect(did.slice(2)).toEqual(['a1 ends', 'a2 begins', 'a2 ends', 'a3 begins', 'a3 ends'])
    expect(turns.size).toBe(0)
  })

  test('go on where one fails', async () => {
    const turns = new KeyedQueue()
    const failed = turns.run('a', () => Promise.reject(new Error('no')))
    const next = turns.run('a', async () => 'yes')
    await expect(failed).rejects.toThrow('no')
    expect(await next).toBe('yes')
    expect(turns.size).toBe(0)
  })

  test('are not waited for one by one where the store is out of reach', async () => {
    const turns = new KeyedQueue()
    let asked = 0
    const ask = () => {
      asked++
      return Promise.reject(new LogError('unavailable', 'gone'))
    }
    const all = await Promise.allSettled([1, 2, 3].map(() => turns.run('a', ask)))
    expect(all.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
    expect(asked).toBe(1)
    expect(turns.size).toBe(0)
    expect(await turns.run('a', async () => 'back')).toBe('back')
  })
})

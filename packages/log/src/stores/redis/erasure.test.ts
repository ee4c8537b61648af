// The text of a removed log stays in the files of the server, until an operator erases it.

import { expect, test, vi } from 'vitest'
import { filesWith, writeEverywhere } from '../removed-log.fixture.ts'
import { redisStore } from './index.ts'
import { server } from './redis-server.fixture.ts'

test('a removed log stays in the append-only file until it is rewritten', async () => {
  const redis = await server()
  const store = redisStore({ url: redis.url })
  try {
    const { dir } = (await redis.send('CONFIG', 'GET', 'dir')) as { dir: string }
    await writeEverywhere(store, 'gone')
    expect(await store.remove('gone')).toBe(true)
    expect(await redis.send('KEYS', '*gone*')).toEqual([])
    expect(filesWith(dir)).not.toEqual([])
    await redis.send('BGREWRITEAOF')
    await vi.waitFor(() => expect(filesWith(dir)).toEqual([]), { timeout: 60_000, interval: 20 })
  } finally {
    await store.close()
    await redis.stop()
  }
})

import { expect, test } from 'vitest'
import { openStore } from './open-store.ts'

test('a scheme is read in any case, and one that is unknown is named', async () => {
  for (const url of ['memory:', 'Memory:', 'MEMORY:']) {
    const store = await openStore(url)
    expect(await store.create('s', null)).toBe(true)
    await store.close()
  }
  await expect(openStore('MySQL://user:secret@host')).rejects.toMatchObject({
    code: 'invalid',
    message: 'store: expected memory:, sqlite:path, redis:// or postgres://, found mysql',
  })
  await expect(openStore('')).rejects.toThrow('found no scheme')
})

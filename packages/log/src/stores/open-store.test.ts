import { expect, test } from 'vitest'
import { openStore } from './open-store.ts'

test('reads a scheme in upper or lower case, and names an unknown one', async () => {
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

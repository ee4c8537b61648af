// The text of a removed log stays in the files of the server, until an operator erases it.

import { join } from 'node:path'
import { expect, test } from 'vitest'
import { filesWith, writeEverywhere } from '../removed-log.fixture.ts'
import { postgresStore } from './index.ts'
import { server } from './postgres-server.fixture.ts'

test('a removed log stays in the tables until a full vacuum', async () => {
  const postgres = await server()
  const store = postgresStore({ url: postgres.url })
  try {
    const [[folder] = []] = await postgres.sql('SHOW data_directory')
    const tables = join(String(folder), 'base')
    await writeEverywhere(store, 'gone')
    expect(await store.remove('gone')).toBe(true)
    const [[rows] = []] = await postgres.sql("SELECT count(*)::int FROM millrace.streams WHERE name = 'gone'")
    expect(rows).toBe(0)
    await postgres.sql('CHECKPOINT')
    expect(filesWith(tables)).not.toEqual([])
    await postgres.sql('VACUUM FULL')
    await postgres.sql('CHECKPOINT')
    expect(filesWith(tables)).toEqual([])
  } finally {
    await store.close()
    await postgres.stop()
  }
})

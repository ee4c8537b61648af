import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import type { Connection } from './connection.ts'
import { Keys } from './keys.ts'
import { readPage } from './page.ts'

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc') as () => void

const MEGABYTE = 1024 * 1024
const ALL = { batches: 9, bytes: MEGABYTE }

/** A connection that returns one batch, like the client for an answer of the server. */
function connectionWith(mark: string, body: string): Connection {
  const value = Buffer.from(`${mark} 1 ${body}`).toString()
  const fields = ['0', null, 'version', 'ticket', '', '1', '1', null, null]
  const reply = ['1', `incarnation ! 1 ${mark} 0 0 1`, fields, '', ['1-5', value]]
  return { run: async () => reply } as unknown as Connection
}

const read = (connection: Connection) => readPage(connection, new Keys('').log('log'), { sequence: 0 }, ALL)

test('reads a batch from its stream', async () => {
  const page = await read(connectionWith('12-abcdefghijkl', '["a b"]'))
  expect(page?.batches).toEqual([{ first: 1, last: 1, timestamp: 5, mark: '12-abcdefghijkl', body: '["a b"]' }])
})

test('law 8: keeping the mark of a batch does not retain its text', async () => {
  const marks: (string | undefined)[] = []
  gc()
  const before = process.memoryUsage().heapUsed
  for (let n = 0; n < 400; n++) {
    const page = await read(connectionWith(`${n}-abcdefghijklmnop`, `["${'x'.repeat(100_000)}"]`))
    marks.push(page?.batches[0]?.mark)
  }
  gc()
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(10 * MEGABYTE)
  expect(marks).toHaveLength(400)
})

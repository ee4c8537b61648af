// Replies are counted while they are built, not after.

import { type LogStore, memoryStore } from '@millrace/log'
import { agent, scriptedModel, tool } from '@millrace/runtime'
import { expect, test } from 'vitest'
import * as z from 'zod'
import type { MillraceOptions } from '../app/options.ts'
import { openTwoUserServer } from '../routing/two-user-server.fixture.ts'

const OUTPUT_BYTES = 300_000
const CALLS = 8

/** Writes eight outputs of 300,000 bytes, which are stored as blobs, and a text of 400,000. */
const dumper = agent({
  name: 'dumper',
  model: scriptedModel([
    { calls: Array.from({ length: CALLS }, (_, n) => ({ name: 'dump', input: { n } })) },
    { text: 'x'.repeat(400_000) },
  ]),
  tools: [
    tool({ name: 'dump', inputSchema: z.object({ n: z.number() }), execute: ({ n }) => `${n}`.repeat(OUTPUT_BYTES) }),
  ],
})

const HISTORY = '/api/ai-sdk/dumper/s/messages'

/** A server with a large session, and the blobs that it has read. */
async function largeSession(limits: MillraceOptions['limits']) {
  const store = memoryStore()
  const read = { blobs: 0 }
  const counting: LogStore = new Proxy(store, {
    get: (_, name) => {
      const value: unknown = Reflect.get(store, name)
      if (typeof value !== 'function') return value
      return (...args: unknown[]) => {
        if (name === 'getBlob') read.blobs++
        return value.apply(store, args)
      }
    },
  })
  const prepare = openTwoUserServer({ store, agents: [dumper] })
  await prepare.run('s', { agent: 'dumper', input: 'Go' })
  const testServer = openTwoUserServer({ store: counting, agents: [dumper], limits: limits ?? {}, engine: false })
  const get = (path: string) => testServer.send({ path })
  return { testServer, get, read }
}

const codeOf = ({ status, json }: Awaited<ReturnType<ReturnType<typeof openTwoUserServer>['send']>>) => [
  status,
  (json as { error?: string; code?: string } | undefined)?.code ?? (json as { error?: { code: string } })?.error?.code,
]

test('a history above the size of a reply is refused before a value is read', async () => {
  const { get, read } = await largeSession({ replyBytes: 1_000_000 })
  expect(codeOf(await get(HISTORY))).toEqual([413, 'reply_too_large'])
  expect(read.blobs).toBe(0)
})

test('a view above the size of a reply is refused, and the list of sessions is not', async () => {
  const { get } = await largeSession({ replyBytes: 100_000 })
  expect(codeOf(await get('/api/sessions/s'))).toEqual([413, 'reply_too_large'])
  expect((await get('/api/sessions')).status).toBe(200)
})

test('histories that are requested at once are refused before their values are read', async () => {
  const { testServer, get, read } = await largeSession({ inFlightBytes: 3_000_000 })
  const replies = await Promise.all(Array.from({ length: 10 }, () => get(HISTORY)))
  const statuses = replies.map(({ status }) => status)
  expect(statuses.filter(status => status === 200)).toHaveLength(1)
  expect(codeOf(replies[statuses.indexOf(429)] as never)).toEqual([429, 'bytes_limit'])
  expect(read.blobs).toBe(CALLS)
  // Refused and sent replies are no longer counted.
  expect((await testServer.send({ path: HISTORY })).status).toBe(200)
})

test('downloads that are requested at once are refused before their bytes are read', async () => {
  const { testServer, read } = await largeSession({ inFlightBytes: 700_000 })
  const runtime = await testServer.app.runtime()
  const { view } = await runtime.view('s')
  const hashes = [...JSON.stringify(view).matchAll(/"hash":"([^"]+)"/g)].map(([, hash]) => hash as string)
  expect(hashes).toHaveLength(CALLS)
  const paths = hashes.map(hash => `/api/sessions/s/blobs/${hash}`)
  const responses = await Promise.all(paths.map(path => testServer.app.fetch(testServer.request({ path }))))
  expect(responses.map(({ status }) => status).sort()).toEqual([200, 200, ...Array(CALLS - 2).fill(429)])
  expect(read.blobs).toBe(2)
  await Promise.all(responses.map(response => response.arrayBuffer()))
})

import { memoryStore, StreamManager } from '@millrace/log'
import type { BlobRef } from '@millrace/protocol'
import { agent, scriptedModel, tool } from '@millrace/runtime'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { request, runEcho, testApp } from '../app/test-app.fixture.ts'

const LARGE = { text: 'x'.repeat(100_000) }
const dump = tool({ name: 'dump', inputSchema: z.object({}), execute: () => LARGE })
const dumper = agent({
  name: 'echo',
  model: scriptedModel([{ calls: [{ name: 'dump', input: {} }] }, { text: 'There.' }]),
  tools: [dump],
})
const SECRET = { key: 'secret '.repeat(20_000) }

/** The large values that the entries of a log refer to, and whether those are internal. */
async function namedIn(manager: StreamManager, session: string): Promise<(BlobRef & { internal: boolean })[]> {
  const { head } = (await manager.getInfo(session)) ?? { head: 0 }
  const entries = await manager.entries(session, 0, head)
  return entries.flatMap(({ blobs = {}, internal = false }) =>
    Object.values(blobs).map(blob => ({ ...blob, internal })),
  )
}

test('law 10: serves a large value by the hash in its entry, unless the entry is internal', async () => {
  const store = memoryStore()
  const { app } = testApp({ store, agents: [dumper], context: () => SECRET })
  const fetch = (path: string, init: RequestInit) => app.fetch(new Request(`http://localhost:4400${path}`, init))
  const { frames } = await runEcho(fetch, 'go')
  const named = await namedIn(new StreamManager({ store }), 's')
  const secret = named.filter(({ internal }) => internal)
  const shown = named.filter(({ internal }) => !internal)
  expect([secret.length > 0, shown.length > 0]).toEqual([true, true])
  for (const { hash, bytes } of shown) {
    expect(frames).toContain(hash)
    const response = await app.fetch(request(`/api/sessions/s/blobs/${hash}`))
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(response.headers.get('cache-control')).toBe('private, max-age=31536000, immutable')
    const text = await response.text()
    expect([text.length, JSON.parse(text)]).toEqual([bytes, LARGE])
  }
  for (const { hash } of secret) {
    expect(frames).not.toContain(hash)
    // Neither by its name nor by the hash in it.
    for (const requestedHash of [hash, hash.slice(-64)]) {
      const response = await app.fetch(request(`/api/sessions/s/blobs/${requestedHash}`))
      expect([response.status, (await response.json()).error.code]).toEqual([404, 'blob_unknown'])
    }
  }
})

test('serves no upload as a large value nor the reverse, and none to another session', async () => {
  const { app } = testApp({ agents: [dumper] })
  const fetch = (path: string, init: RequestInit) => app.fetch(new Request(`http://localhost:4400${path}`, init))
  const { frames } = await runEcho(fetch, 'go')
  const [, hash = ''] = /"hash":"([0-9a-f]{64})"/.exec(frames) ?? []
  const headers = { 'content-type': 'text/plain' }
  const upload = await fetch('/api/sessions/s/uploads', { method: 'POST', body: 'a file', headers })
  const { hash: uploaded } = await upload.json()
  await runEcho(fetch, 'go', '/api/sessions/t/runs')
  await fetch('/api/sessions/u/uploads', { method: 'POST', body: 'another', headers })
  const statuses = await Promise.all(
    [
      `/api/sessions/s/blobs/${hash}`,
      `/api/sessions/s/uploads/${uploaded}`,
      `/api/sessions/s/blobs/${uploaded}`,
      `/api/sessions/s/blobs/upload-${uploaded}`,
      `/api/sessions/s/uploads/${hash}`,
      `/api/sessions/u/blobs/${hash}`,
      `/api/sessions/t/uploads/${uploaded}`,
    ].map(async path => (await app.fetch(request(path))).status),
  )
  expect(statuses).toEqual([200, 200, 404, 404, 404, 404, 404])
})

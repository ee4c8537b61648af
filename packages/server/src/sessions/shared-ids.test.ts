// Two owners may have sessions with the same id. Neither notices: replies and calls of the store are the same as if the
// other's session did not exist.

import { type LogStore, memoryStore, sessionIdOf } from '@millrace/log'
import { qualifiedId } from '@millrace/log/internal'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { routes } from '../app/routes.ts'
import type { Route } from '../routing/route.ts'
import {
  framesIn,
  openTwoUserServer,
  type ReadReply,
  type TestRequest,
  TwoUserServer,
} from '../routing/two-user-server.fixture.ts'
import { prepareSessions, type ValidRequest, validRequests } from '../routing/valid-requests.fixture.ts'

/** Ids that ann's requests name, and ids of sessions that ann does not have. */
const IDS = [
  ...['mine', 'waiting', 'waiting-there', 'asking', 'large', 'stopped', 'spare', 'nobodys'],
  ...['ag-ui', 'ai-sdk', 'helix', 'kortyx', 'mui', 'tanstack'].map(dialect => `session-of-${dialect}`),
]

const NDJSON = { accept: 'application/x-ndjson' }
const JSON_REPLY = { accept: 'application/json' }
const keyOf = ({ method, path }: Route) => `${method} ${path}`
/** What a client must never see: the qualifier of a log's id. */
const QUALIFIER = new RegExp(qualifiedId('ann', '').slice(1))

/** Sessions of bob with all ids. */
async function takeAllIds(testServer: TwoUserServer): Promise<void> {
  for (const id of IDS) await testServer.run(id, { agent: 'echo', input: 'This is mine' }, 'bob')
}

/** A text without random names and times. */
const normalized = (text: string): string =>
  text
    .replace(/\d+\.[\w-]{12}\.[\w-]+/g, 'CURSOR')
    .replace(/"incarnation":"[\w-]+"/g, 'INCARNATION')
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'UUID')
    .replace(/"sessionId":"[\w-]{22}"|(?<=x-session-id",")[\w-]{22}/g, 'RANDOM')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z|\b1\d{12}\b/g, 'TIME')
    .replace(/"after":"[^"]+"|"next":"[^"]+"/g, 'TOKEN')
    .replace(/(?<="token":")[0-9a-f]{32}/g, 'ANSWER')
    .replace(/"content-length","\d+"/g, 'LENGTH')
    // The speed of a run decides which of its deltas are joined.
    .replace(/"(sequence|streamSequence|at|head|metaAt|toSequence)":\d+/g, 'POSITION')

/** The reply to a request. Of a live stream: the part up to the end of the replay. */
async function replyTo(testServer: TwoUserServer, { status: _, isLive, ...sent }: ValidRequest): Promise<ReadReply> {
  if (!isLive) return testServer.send(sent)
  const response = await testServer.app.fetch(testServer.request(sent))
  let text = ''
  for await (const piece of response.body ?? []) {
    text += new TextDecoder().decode(piece)
    const isComplete = text.includes('"sessions"') || text.split('"caught-up"').length > 2
    if (isComplete) break
  }
  return { status: response.status, headers: response.headers, text, json: undefined }
}

/** What a client can compare. The frames of a stream depend on the speed of the run, so only their kinds count. */
function observed({ status, headers, text }: ReadReply, { isLive }: ValidRequest) {
  const isStream = isLive || !headers.get('content-type')?.startsWith('application/json')
  const kinds = new Set(text.match(/"(type|sessionId|threadId|code)":"[^"]*"/g))
  const content = isStream ? [...kinds].toSorted() : normalized(text)
  return { status, headers: normalized(JSON.stringify([...headers].toSorted())), content }
}

describe('requests in sessions whose ids another owner uses, too', () => {
  const replies: { alone: Map<string, ReadReply>; beside: Map<string, ReadReply> } = {
    alone: new Map(),
    beside: new Map(),
  }
  const requests = new Map<string, ValidRequest>()
  const servers: TwoUserServer[] = []

  beforeAll(async () => {
    for (const kind of ['alone', 'beside'] as const) {
      const testServer = new TwoUserServer()
      servers.push(testServer)
      if (kind === 'beside') await takeAllIds(testServer)
      const before = kind === 'beside' ? await contentOf(testServer.store, 'bob') : ''
      const valid = validRequests(await prepareSessions(testServer))
      for (const [key, request] of Object.entries(valid)) {
        requests.set(key, request)
        replies[kind].set(key, await replyTo(testServer, request))
      }
      if (kind === 'beside') expect(await contentOf(testServer.store, 'bob')).toBe(before)
    }
  }, 120_000)
  afterAll(async () => {
    for (const { app } of servers) await app.close()
  })

  it.each(routes.map(keyOf))('%s: gets the same reply as if the other sessions did not exist', key => {
    const request = requests.get(key) as ValidRequest
    const [alone, beside] = [replies.alone.get(key) as ReadReply, replies.beside.get(key) as ReadReply]
    expect(beside.status).toBe(request.status)
    expect(observed(beside, request)).toEqual(observed(alone, request))
    for (const text of [beside.text, JSON.stringify([...beside.headers])])
      expect(QUALIFIER.exec(text)?.[0]).toBe(undefined)
  })
})

/** The content of all logs of an owner. */
async function contentOf(store: LogStore, owner: string): Promise<string> {
  const { streams } = await store.list(owner, 1000)
  const logs: unknown[] = []
  for (const { streamId } of streams.toSorted((a, b) => (a.streamId < b.streamId ? -1 : 1))) {
    const page = await store.read(streamId, { sequence: 0 }, { batches: 1000, bytes: 1e9 })
    logs.push([streamId, page?.version, page?.batches])
  }
  return JSON.stringify(logs)
}

/** A store that records its calls, with the ids of sessions in place of those of logs. */
function recordingStore() {
  const inner = memoryStore()
  const calls: string[] = []
  const store = new Proxy(inner, {
    get: (_, name: keyof LogStore) => {
      const value = inner[name]
      if (typeof value !== 'function') return value
      return (...args: unknown[]) => {
        const [streamId] = args
        calls.push(`${name} ${typeof streamId === 'string' ? sessionIdOf(streamId) : ''}`)
        return (value as (...args: unknown[]) => unknown).apply(inner, args)
      }
    },
  })
  return { store, calls }
}

describe('the store', () => {
  const run = { agent: 'echo', input: 'Hello', runId: 'r1', messageId: 'm1' }
  const text = { raw: 'a file', headers: { 'content-type': 'text/plain' } }
  const missingFile = { type: 'file', mediaType: 'text/plain', url: `upload:${'0'.repeat(64)}` }
  it.each<[string, TestRequest[]]>([
    ['a missing session is read', [{ path: '/api/sessions/s' }]],
    ['a missing session is followed', [{ path: '/api/sessions/s/stream?live=false' }]],
    ['a missing session is followed with others', [{ path: '/api/stream?session=s&session=t' }]],
    ['a missing session is deleted', [{ path: '/api/sessions/s', method: 'DELETE' }]],
    ['a missing session is stopped', [{ path: '/api/sessions/s/stop', body: {} }]],
    ['a missing session is forked', [{ path: '/api/sessions/s/fork', body: {} }]],
    ['a missing session is answered', [{ path: '/api/sessions/s/answers', body: { kind: 'claim', id: 'c' } }]],
    ['a missing session is read by a dialect', [{ path: '/api/ai-sdk/echo/s/messages' }]],
    ['a missing session is resumed by a dialect', [{ path: '/api/ai-sdk/echo/s/stream' }]],
    ['the status of a missing session is read', [{ path: '/api/helix/echo/status?sessionId=s' }]],
    ['a session is created by a run', [{ path: '/api/sessions/s/runs', body: run, headers: JSON_REPLY }]],
    ['a session is created by an upload', [{ path: '/api/sessions/s/uploads', ...text }]],
    [
      'a session is created, read, listed and deleted',
      [
        { path: '/api/sessions/s/uploads', ...text },
        { path: '/api/sessions/s' },
        { path: '/api/sessions' },
        { path: '/api/sessions/s', method: 'DELETE' },
        { path: '/api/sessions/s' },
      ],
    ],
    [
      'a session is created and read by a dialect',
      [
        { path: '/api/helix/echo/start', body: { sessionId: 's', message: 'Hello' } },
        { path: '/api/helix/echo/snapshot?sessionId=s' },
        { path: '/api/ai-sdk/echo/s/messages' },
      ],
    ],
    [
      'a request that fails has created a session',
      [
        { path: '/api/sessions/s/runs', body: { ...run, input: { parts: [missingFile] } }, headers: JSON_REPLY },
        { path: '/api/sessions' },
      ],
    ],
  ])('gets the same calls whether or not another owner has the session: %s', async (_, requests) => {
    const recordedCalls: string[][] = []
    const statuses: number[][] = []
    for (const isTaken of [false, true]) {
      const { store, calls } = recordingStore()
      const testServer = openTwoUserServer({ store, engine: false })
      for (const other of isTaken ? ['s', 't'] : [])
        await testServer.send({ path: `/api/sessions/${other}/uploads`, ...text, user: 'bob' })
      calls.length = 0
      statuses.push([])
      for (const sent of requests) statuses.at(-1)?.push((await testServer.send(sent)).status)
      recordedCalls.push([...calls])
    }
    expect(statuses[1]).toEqual(statuses[0])
    expect(recordedCalls[1]).toEqual(recordedCalls[0])
    expect(recordedCalls[0]).not.toEqual([])
  })
})

describe('a session whose id another owner uses, too', () => {
  const titlesOf = async (testServer: TwoUserServer, user: string) => {
    const { json } = await testServer.send({ path: '/api/sessions', user })
    return (json as { sessions: { sessionId: string; line?: string }[] }).sessions.map(({ sessionId, line }) => [
      sessionId,
      line,
    ])
  }

  it('is another session, for each owner', async () => {
    const testServer = openTwoUserServer()
    for (const user of ['bob', 'ann', 'eve'])
      expect((await testServer.run('s', { agent: 'echo', input: `I am ${user}` }, user)).status).toBe(200)
    for (const user of ['bob', 'ann', 'eve'])
      expect(await titlesOf(testServer, user)).toEqual([['s', `You said: I am ${user}`]])
    expect((await testServer.send({ path: '/api/sessions/s', method: 'DELETE' })).status).toBe(204)
    expect((await testServer.send({ path: '/api/sessions/s' })).status).toBe(404)
    for (const user of ['bob', 'eve'])
      expect((await testServer.send({ path: '/api/sessions/s', user })).status).toBe(200)
  })

  it('stays when the other owner deletes theirs, and is found before one that an older process created', async () => {
    const testServer = openTwoUserServer()
    for (const user of ['bob', 'ann']) await testServer.run('s', { agent: 'echo', input: `I am ${user}` }, user)
    await testServer.send({ path: '/api/sessions/s', method: 'DELETE', user: 'bob' })
    const page = () => testServer.send({ path: '/api/sessions/s' })
    expect((await page()).text).toContain('You said: I am ann')
    // An older process does not find the session and creates another one.
    await testServer.store.create('s', 'ann')
    expect((await page()).text).toContain('You said: I am ann')
    expect(await titlesOf(testServer, 'ann')).toHaveLength(2)
    await testServer.send({ path: '/api/sessions/s', method: 'DELETE' })
    expect((await page()).text).not.toContain('You said')
    expect((await page()).status).toBe(200)
  })

  it('is listed page by page, with tokens that do not reveal its log', async () => {
    const testServer = openTwoUserServer()
    for (const id of ['a', 'b', 'c']) await testServer.run(id, { agent: 'echo', input: 'Hello' }, 'bob')
    for (const id of ['a', 'x', 'b', 'y', 'c']) await testServer.run(id, { agent: 'echo', input: 'Hello' })
    const seen: string[] = []
    for (let after = ''; ; ) {
      const { json } = await testServer.send({ path: `/api/sessions?limit=1${after}` })
      const { sessions, next } = json as { sessions: { sessionId: string }[]; next: string | null }
      seen.push(...sessions.map(({ sessionId }) => sessionId))
      if (next === null) break
      expect(QUALIFIER.exec(next)?.[0]).toBe(undefined)
      after = `&after=${encodeURIComponent(next)}`
    }
    expect(seen).toEqual(['c', 'y', 'b', 'x', 'a'])
  })

  it('is followed in a list, and leaves it when it is deleted', async () => {
    const testServer = openTwoUserServer()
    for (const user of ['bob', 'ann']) await testServer.run('s', { agent: 'echo', input: 'Hello' }, user)
    const response = await testServer.app.fetch(testServer.request({ path: '/api/sessions/stream', headers: NDJSON }))
    let text = ''
    let isDeleted = false
    for await (const piece of response.body ?? []) {
      text += new TextDecoder().decode(piece)
      if (!isDeleted) await testServer.send({ path: '/api/sessions/s', method: 'DELETE' })
      isDeleted = true
      if (text.includes('"removed":["s"]')) break
    }
    expect(framesIn({ text } as ReadReply)[0]).toMatchObject({ sessions: [{ sessionId: 's' }], removed: [] })
    expect(QUALIFIER.exec(text)?.[0]).toBe(undefined)
  })

  it('has its id in the entries of its workflows', async () => {
    const testServer = openTwoUserServer()
    await testServer.run('s', { agent: 'echo', input: 'Hello' }, 'bob')
    const { text } = await testServer.run('s', { workflow: 'question', input: 'Knock' })
    expect(text).toContain('{"type":"session","sessionId":"s"}')
  })

  it('is not reached by the id of its log', async () => {
    const testServer = openTwoUserServer()
    for (const user of ['bob', 'ann']) await testServer.run('s', { agent: 'echo', input: 'Hello' }, user)
    const id = encodeURIComponent(qualifiedId('ann', 's'))
    for (const user of ['bob', 'ann'])
      expect((await testServer.send({ path: `/api/sessions/${id}`, user })).status).toBe(400)
  })
})

describe('a session of an earlier release, whose log has its id', () => {
  it('is served to its owner, and its id is free for others', async () => {
    const testServer = openTwoUserServer()
    const runtime = await testServer.app.runtime()
    const run = await runtime.start({ agent: 'echo', session: 's', principal: 'bob', input: 'Before' })
    await run.result()
    expect((await runtime.manager.getInfo('s'))?.principal).toBe('bob')
    await testServer.run('s', { agent: 'echo', input: 'After' }, 'bob')
    await testServer.run('s', { agent: 'echo', input: 'Mine' }, 'ann')
    const messagesOf = async (user: string) => (await testServer.send({ path: '/api/sessions/s', user })).text
    expect(await messagesOf('bob')).toMatch(/Before.*After/)
    expect(await messagesOf('bob')).not.toContain('Mine')
    expect(await messagesOf('ann')).not.toContain('Before')
  })
})

describe('code of the application', () => {
  it('starts a run in the session of an owner, also if another owner has the id', async () => {
    const testServer = openTwoUserServer()
    const runtime = await testServer.app.runtime()
    await testServer.run('s', { agent: 'echo', input: 'I am bob' }, 'bob')
    const options = { agent: 'echo', session: 's', principal: 'ann', messageId: 'm' }
    const run = await runtime.start({ ...options, input: 'I am ann' })
    await run.result()
    expect(sessionIdOf(run.sessionId)).toBe('s')
    const next = await runtime.start({ ...options, session: run.sessionId, input: 'Again', messageId: 'm2' })
    await next.result()
    expect(next.sessionId).toBe(run.sessionId)
    expect((await runtime.manager.findSession('ann', 's'))?.streamId).toBe(run.sessionId)
    expect((await testServer.send({ path: '/api/sessions/s' })).text).toMatch(/I am ann.*Again/)
    expect((await testServer.send({ path: '/api/sessions/s', user: 'bob' })).text).not.toContain('I am ann')
  })
})

import { systemTimers, type Timers } from '@millrace/log'
import type { Entry } from '@millrace/protocol'
import { describe, expect, it } from 'vitest'
import { framesIn, openTwoUserServer, type ReadReply, type TwoUserServer } from '../routing/two-user-server.fixture.ts'

const NDJSON = { accept: 'application/x-ndjson' }
const errorOf = ({ status, json }: ReadReply) => [
  status,
  (json as { error?: { code: string } } | undefined)?.error?.code,
]
const viewOf = async (testServer: TwoUserServer, path = '/api/sessions/s') =>
  (await testServer.send({ path })).json as {
    sequence: number
    cursor: string
    title?: string
    metadata?: object
    page?: { total: number; hasMore: boolean; before?: string }
    view: { messages: { id: string; parts: { text?: string }[] }[] }
  }

describe('a session', () => {
  it('gets a random id, and its title and metadata', async () => {
    const testServer = openTwoUserServer()
    const created = await Promise.all(Array.from({ length: 20 }, () => testServer.post('/api/sessions', {})))
    const ids = created.map(({ sessionId }) => sessionId as string)
    expect(new Set(ids).size).toBe(20)
    for (const id of ids) expect(id).toMatch(/^[\w-]{22}$/)
    const { sessionId } = await testServer.post('/api/sessions', { title: 'Trip', metadata: { tags: ['a'] } })
    const path = `/api/sessions/${sessionId}`
    expect(await viewOf(testServer, path)).toMatchObject({ title: 'Trip', metadata: { tags: ['a'] } })
    const patched = await testServer.post(path, { title: 'Journey' }, { method: 'PATCH' })
    expect(patched).toMatchObject({ sessionId, title: 'Journey' })
    expect(await viewOf(testServer, path)).toMatchObject({ title: 'Journey', metadata: { tags: ['a'] } })
    const { json } = await testServer.send({ path: '/api/sessions?limit=1' })
    expect(json).toMatchObject({ sessions: [{ sessionId, title: 'Journey' }], next: expect.any(String) })
  })

  it('is not created with an invalid title, and an existing one keeps its title', async () => {
    const testServer = openTwoUserServer()
    const deep = JSON.parse(`${'{"a":'.repeat(20)}1${'}'.repeat(20)}`)
    const bad = [{ title: 'a'.repeat(201) }, { metadata: { a: 'a'.repeat(5000) } }, { metadata: deep }]
    for (const body of bad) {
      expect(errorOf(await testServer.send({ path: '/api/sessions', body }))).toEqual([400, 'body_invalid'])
    }
    expect(await testServer.storeContent()).toBe('[]')
    const { sessionId } = await testServer.post('/api/sessions', { title: 'Trip' })
    const before = await testServer.storeContent()
    for (const body of [...bad, {}]) {
      const [status] = errorOf(await testServer.send({ path: `/api/sessions/${sessionId}`, method: 'PATCH', body }))
      expect(status).toBe(400)
    }
    expect(await testServer.storeContent()).toBe(before)
  })

  it('is read at one position: following from its cursor misses and repeats nothing', async () => {
    const testServer = openTwoUserServer()
    await testServer.run('s', { agent: 'echo', input: 'One' })
    const { cursor, sequence, view } = await viewOf(testServer)
    await testServer.run('s', { agent: 'echo', input: 'Two' })
    const frames = framesIn(
      await testServer.send({ path: `/api/sessions/s/stream?live=false&after=${cursor}`, headers: NDJSON }),
    )
    const pieces = frames.filter(({ type }) => type === 'entries') as { after?: number; entries: Entry[] }[]
    expect(pieces[0]?.after).toBe(sequence)
    const later = await viewOf(testServer)
    expect(later.view.messages.slice(0, view.messages.length)).toEqual(view.messages)
    expect(later.view.messages).toHaveLength(view.messages.length + 2)
  })

  it('is paged by messages, from the end', async () => {
    const testServer = openTwoUserServer()
    for (const id of ['m1', 'm2', 'm3']) await testServer.run('s', { agent: 'echo', input: id, messageId: id })
    const textsOf = (messages: readonly { parts: { text?: string }[] }[]) =>
      messages.map(({ parts }) => parts.map(({ text }) => text ?? '').join(''))
    const all = await viewOf(testServer)
    expect(all.page).toBeUndefined()
    const last = await viewOf(testServer, '/api/sessions/s?messages=last:2')
    expect(textsOf(last.view.messages)).toEqual(['m3', 'You said: m3'])
    expect(last.page).toEqual({ total: 6, hasMore: true, before: last.view.messages[0]?.id })
    const older = async (n: number, before = '') =>
      (await testServer.send({ path: `/api/sessions/s?messages=last:${n}&before=${before}` })).json as object
    // A page of older messages has no cursor to follow.
    const { messages } = all.view
    const before = await older(3, last.page?.before)
    const page = { total: 6, hasMore: true, before: messages[1]?.id }
    expect(before).toEqual({ sequence: all.sequence, messages: messages.slice(1, 4), page })
    expect(await older(3, page.before)).toMatchObject({
      messages: messages.slice(0, 1),
      page: { total: 6, hasMore: false },
    })
  })

  it('is listed once, with its last line, over all pages', async () => {
    const testServer = openTwoUserServer()
    for (let i = 0; i < 5; i++) await testServer.run(`s${i}`, { agent: 'echo', input: `Number ${i}` })
    const seen: string[] = []
    for (let after = ''; ; ) {
      const { json } = await testServer.send({ path: `/api/sessions?limit=2${after}` })
      const { sessions, next } = json as {
        sessions: { sessionId: string; line: string; status: string }[]
        next: string | null
      }
      seen.push(...sessions.map(({ sessionId, line, status }) => `${sessionId} ${line} ${status}`))
      if (next === null) break
      after = `&after=${encodeURIComponent(next)}`
    }
    expect(seen).toEqual([4, 3, 2, 1, 0].map(i => `s${i} You said: Number ${i} ended`))
  })
})

describe('a fork', () => {
  it('is a new session with a copy of the beginning of another', async () => {
    const testServer = openTwoUserServer()
    await testServer.run('s', { agent: 'echo', input: 'One', runId: 'r1' })
    const { sequence } = await viewOf(testServer)
    await testServer.run('s', { agent: 'echo', input: 'Two' })
    const { sessionId } = await testServer.post('/api/sessions/s/fork', { at: sequence })
    const { view } = await viewOf(testServer, `/api/sessions/${sessionId}`)
    expect(view.messages).toHaveLength(2)
    expect((await testServer.run(sessionId as string, { agent: 'echo', input: 'Other' })).status).toBe(200)
    expect((await viewOf(testServer)).view.messages).toHaveLength(4)
  })

  it('is refused for a missing session or sequence, and creates nothing', async () => {
    const testServer = openTwoUserServer()
    await testServer.run('s', { agent: 'echo', input: 'One' })
    const before = await testServer.storeContent()
    const [status] = errorOf(await testServer.send({ path: '/api/sessions/s/fork', body: { at: 9999 } }))
    expect([400, 410]).toContain(status)
    expect(await testServer.storeContent()).toBe(before)
  })
})

describe('the list of sessions', () => {
  it('shows a session created here at once to all followers', async () => {
    // No timer of a refresh fires.
    const after: Timers['after'] = (ms, ...rest) => (ms < 1_000 ? systemTimers.after(ms, ...rest) : () => {})
    const testServer = openTwoUserServer({ timers: { ...systemTimers, after } })
    const response = await testServer.app.fetch(testServer.request({ path: '/api/sessions/stream', headers: NDJSON }))
    let text = ''
    const createdIds: string[] = []
    for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += piece
      if (!createdIds.every(sessionId => text.includes(`"${sessionId}"`))) continue
      if (createdIds.length === 3) break
      const path = ['/api/sessions', `/api/sessions/${createdIds[0]}/fork`, '/api/sessions/own/runs'][
        createdIds.length
      ] as string
      const body = createdIds.length < 2 ? {} : { agent: 'echo', input: 'Hello' }
      const { sessionId } = await testServer.post(path, body, { headers: { accept: 'application/json' } })
      createdIds.push(sessionId as string)
    }
    expect(new Set(createdIds).size).toBe(3)
  })
})

describe('a deleted session', () => {
  it('is removed: its run is aborted, its followers get an error, and its id is free', async () => {
    const testServer = openTwoUserServer()
    const body = { agent: 'slow', input: 'Wait', runId: 'slow-run' }
    const running = await testServer.app.fetch(
      testServer.request({ path: '/api/sessions/s/runs', body, headers: NDJSON }),
    )
    const following = await testServer.app.fetch(
      testServer.request({ path: '/api/sessions/s/stream', headers: NDJSON }),
    )
    const run = (await testServer.app.runtime()).run('s', 'slow-run')
    for await (const { chunk } of run.stream()) if (chunk.type === 'text-delta') break
    expect((await testServer.send({ path: '/api/sessions/s', method: 'DELETE' })).status).toBe(204)
    // Neither hangs, and both report why they end, so that it is not mistaken for the end of the run.
    for (const response of [running, following]) {
      const last = framesIn({ text: await response.text(), status: 200, headers: new Headers(), json: undefined }).at(
        -1,
      )
      expect(['truncated', 'fail']).toContain(last?.['type'])
    }
    expect(errorOf(await testServer.send({ path: '/api/sessions/s' }))).toEqual([404, 'session_unknown'])
    expect(errorOf(await testServer.send({ path: '/api/sessions/s', method: 'DELETE' }))).toEqual([
      404,
      'session_unknown',
    ])
    await expect.poll(() => testServer.slow.counted.aborts).toBe(1)
    const { status } = await testServer.run('s', { agent: 'echo', input: 'Mine now' }, 'bob')
    expect(status).toBe(200)
    const { json } = await testServer.send({ path: '/api/sessions/s', user: 'bob' })
    expect((json as { view: { messages: unknown[] } }).view.messages).toHaveLength(2)
  })
})

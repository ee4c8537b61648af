import { agent, RunError, scriptedModel, tool } from '@millrace/runtime'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { openTwoUserServer } from '../routing/two-user-server.fixture.ts'
import { type ContextRequest, MAX_CONTEXT_BYTES } from './context.ts'

/** An agent with a tool that records its context. */
function witness() {
  const seen: unknown[] = []
  const look = tool({
    name: 'look',
    inputSchema: z.object({}),
    execute: (_, { context }) => {
      seen.push(context)
      return 'seen'
    },
  })
  const model = scriptedModel([{ calls: [{ name: 'look', input: {} }] }, { text: 'Done.' }])
  return { seen, agents: [agent({ name: 'witness', model, tools: [look] })] }
}

describe('the context of a run', () => {
  it('is the result of the context option, and nothing that a client sent', async () => {
    const { seen, agents } = witness()
    const contextRequests: ContextRequest[] = []
    const context = (about: ContextRequest) => {
      contextRequests.push(about)
      return { tenant: 'acme', principal: about.principal }
    }
    const testServer = openTwoUserServer({ agents, context })
    const body = { agent: 'witness', input: 'Look', data: { tenant: 'evil', context: { tenant: 'evil' } }, runId: 'r1' }
    const headers = { 'x-tenant': 'evil', accept: 'application/x-ndjson' }
    const { status } = await testServer.send({ path: '/api/sessions/s/runs', body, headers })
    expect([status, seen]).toEqual([200, [{ tenant: 'acme', principal: 'ann' }]])
    expect(contextRequests).toMatchObject([{ principal: 'ann', body }])
    expect(contextRequests[0]?.request.headers.get('x-tenant')).toBe('evil')
    // A field of that name has no effect.
    const { status: refused } = await testServer.run('s', {
      agent: 'witness',
      input: 'Look',
      context: { tenant: 'evil' },
    })
    expect(refused).toBe(400)
    await testServer.send({ path: '/api/sessions/s/retry', body: { of: 'r1' }, headers })
    expect(seen.at(-1)).toEqual({ tenant: 'acme', principal: 'ann' })
    expect([contextRequests.length, seen.length]).toEqual([2, 2])
  })

  it('is created again for each request', async () => {
    const { seen, agents } = witness()
    let call = 0
    const testServer = openTwoUserServer({
      agents,
      context: ({ body }) => ({ call: ++call, agent: (body as { agent?: string }).agent ?? null }),
    })
    await testServer.run('s', { agent: 'witness', input: 'Look', messageId: 'm1' })
    const headers = { accept: 'application/x-ndjson' }
    await testServer.send({ path: '/api/sessions/s/edit', body: { messageId: 'm1', input: 'Look again' }, headers })
    expect(seen).toEqual([
      { call: 1, agent: 'witness' },
      { call: 2, agent: null },
    ])
  })

  it('law 10: is in no reply of any route', async () => {
    const { agents } = witness()
    const testServer = openTwoUserServer({ agents, context: () => ({ token: 'secret-of-the-context' }) })
    const replies = [
      await testServer.run('s', { agent: 'witness', input: 'Look', runId: 'r1', messageId: 'm1' }),
      await testServer.send({ path: '/api/sessions/s' }),
      await testServer.send({ path: '/api/sessions/s/stream?live=false&merge=false' }),
      await testServer.send({ path: '/api/sessions/s/stream?run=r1' }),
      await testServer.send({ path: '/api/sessions/s/stream?live=long-poll' }),
      await testServer.send({ path: '/api/sessions' }),
      await testServer.run('s', { agent: 'witness', input: 'Look', runId: 'r1' }),
      await testServer.send({ path: '/api/sessions/s/retry', body: {}, headers: { accept: 'text/event-stream' } }),
    ]
    for (const { text } of replies) expect(text).not.toContain('secret')
    expect(JSON.stringify(await testServer.storeContent())).toContain('secret')
  })

  const cyclic: { self?: unknown } = {}
  cyclic.self = cyclic
  const throwing = (error: unknown) => () => {
    throw error
  }
  it.each([
    ['an error', throwing(new Error('secret'))],
    ['an error of Millrace', throwing(new RunError('run_busy', 'secret'))],
    ['a thrown string', throwing('secret')],
    ['a rejection', () => Promise.reject(new Error('secret'))],
    ['a value that is not JSON', () => cyclic],
    ['a value that is too large', () => 'secret'.repeat(MAX_CONTEXT_BYTES)],
  ])('%s is an internal error without a message, and creates no session', async (_, context) => {
    const testServer = openTwoUserServer({ context: context as () => never })
    const { status, text } = await testServer.run('s', { agent: 'echo', input: 'Hello' })
    expect([status, text.includes('internal_error'), text.includes('secret')]).toEqual([500, true, false])
    expect([await testServer.storeContent(), testServer.logged.length]).toEqual(['[]', 1])
  })

  it('may be undefined', async () => {
    const { seen, agents } = witness()
    const testServer = openTwoUserServer({ agents, context: () => undefined })
    await testServer.run('s', { agent: 'witness', input: 'Look', data: { a: 1 } })
    expect(seen).toEqual([undefined])
  })
})

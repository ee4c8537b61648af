import { type LogStore, memoryStore } from '@millrace/log'
import { qualifiedId } from '@millrace/log/internal'
import { agent, scriptedModel, tool } from '@millrace/runtime'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { echo, request, testApp } from '../app/test-app.fixture.ts'

const SECRET = 'a secret of bob'

const operator = agent({
  name: 'operator',
  model: scriptedModel([
    {
      calls: [
        { name: 'send', input: {}, id: 'send' },
        { name: 'choose', input: {}, id: 'choose' },
      ],
    },
    { text: 'Done.' },
  ]),
  tools: [
    tool({ name: 'send', inputSchema: z.object({}), approval: true, execute: () => 'sent' }),
    tool({ name: 'choose', inputSchema: z.object({}), client: true }),
  ],
})

/** A request of a user. */
interface Sent {
  readonly path: string
  readonly method?: string
  readonly body?: unknown
  readonly raw?: string
  readonly accept?: string
}

/** A server that takes the user's name as principal. */
function serverOn(store: LogStore, engine: false | { pollMs: number }) {
  const authorize = (context: { request: Request }) => context.request.headers.get('x-user')
  const { app } = testApp({ store, agents: [echo, operator], engine, authorize })
  const send = (user: string, { path, method, body, raw, accept = 'application/json' }: Sent) => {
    const headers = { 'x-user': user, accept, ...(raw !== undefined && { 'content-type': 'text/plain' }) }
    const how = { ...(raw !== undefined && { method: 'POST', body: raw }), ...(method !== undefined && { method }) }
    return app.fetch(request(path, body, { ...how, headers }))
  }
  return { app, send }
}

/** The session `s` of ann, which a test can hand to bob at any moment, with the same runs and pendings but other texts. */
async function testServer() {
  const inner = memoryStore()
  const { app, send } = serverOn(inner, { pollMs: 20 })
  const hashes: string[] = []
  for (const [user, input] of Object.entries({ ann: 'words of ann', bob: SECRET })) {
    for (const [runId, agent] of Object.entries({ r1: 'echo', r2: 'operator' })) {
      const body = { agent, runId, messageId: `m-${runId}`, input }
      await (await send(user, { path: `/api/sessions/${user}/runs`, body, accept: 'text/event-stream' })).text()
    }
    const { hash } = await (await send(user, { path: `/api/sessions/${user}/uploads`, raw: input })).json()
    hashes.push(hash)
  }
  await app.close()
  const look = async (sessionId: string) => {
    const page = await inner.read(sessionId, { sequence: 0 }, { batches: 1000, bytes: 1e9 })
    return page && { ...page, clock: 0 }
  }
  const become = async (user: string) => {
    const { head = 0, ticket = '' } = (await look(user)) ?? {}
    await inner.remove('s')
    const due = { at: null, program: null }
    await inner.fork(user, head, 's', { principal: user, ticket: { state: ticket, due }, closing: null })
  }
  /** Sends a request of ann and hands the session to bob before the nth lookup. Returns all that ann receives; undefined if there are fewer lookups. */
  const during = async (nth: number, sent: Sent): Promise<string | undefined> => {
    await become('ann')
    let calls = 0
    let bobs: unknown
    const swapping = (call: (...args: unknown[]) => unknown) => {
      return async (...args: unknown[]) => {
        if (args[0] === 's' && calls++ === nth) {
          await become('bob')
          bobs = await look('s')
        }
        return call.apply(inner, args)
      }
    }
    const store = new Proxy(inner, {
      get: (_, name: keyof LogStore) => {
        const value = inner[name]
        if (typeof value !== 'function') return value
        return name === 'watch' ? inner.watch.bind(inner) : swapping(value as (...args: unknown[]) => unknown)
      },
    })
    const server = serverOn(store, false)
    const response = await server.send('ann', sent)
    let result = `${response.status} `
    for await (const piece of response.body ?? []) {
      result += new TextDecoder().decode(piece)
      // An endless stream has already sent everything.
      if (result.split('\n').some(line => LAST.every(sign => sign.test(line)))) break
      // The run is in a new session of ann with the same id, where no engine drives it.
      if ((await look(qualifiedId('ann', 's'))) !== undefined) break
    }
    const { sessionId } = /^201 .*"sessionId":"(?<sessionId>[^"]+)"/.exec(result)?.groups ?? {}
    if (sessionId) result += JSON.stringify(await look(sessionId))
    await server.app.close()
    if (bobs === undefined) return undefined
    expect([nth, await look('s')]).toEqual([nth, bobs])
    return result
  }
  return { during, hashes }
}

const LAST = [/"type":"(caught-up|fail|truncated)"/, /"sessionId":"s"/]

const post = (path: string, body: object): Sent => ({ path: `/api/sessions/s/${path}`, body })
const follow = (query: string): Sent => ({ path: `/api/sessions/s/stream?${query}`, accept: 'text/event-stream' })
const again = { agent: 'echo', runId: 'r1', messageId: 'm-r1', input: 'words of ann' }

describe('a session that another user deletes and creates again at any moment', () => {
  test.each<[string, Sent]>([
    ['its view', { path: '/api/sessions/s' }],
    ['its stream', follow('live=false')],
    ['its stream after a sequence', follow('live=false&after=1')],
    ['a run', follow('run=r1')],
    ['a run after a sequence', follow('run=r1&after=3')],
    ['a paused run', follow('run=r2')],
    ['a poll', follow('live=long-poll')],
    ['a poll after a sequence', follow('live=long-poll&after=1')],
    ['several sessions', { path: '/api/stream?session=s&session=ann', accept: 'text/event-stream' }],
    ['an approval', post('answers', { kind: 'approval', id: 'r2::send', approved: true })],
    ['a result', post('answers', { kind: 'tool-result', id: 'choose', output: 'blue' })],
    ['a claim', post('answers', { kind: 'claim', id: 'choose' })],
    ['a stop', post('stop', {})],
    ['a stop of a run', post('stop', { runId: 'r2' })],
    ['a title', { path: '/api/sessions/s', method: 'PATCH', body: { title: 'of ann' } }],
    ['a fork', post('fork', {})],
    ['a deletion', { path: '/api/sessions/s', method: 'DELETE' }],
    ['a new run', post('runs', { agent: 'echo', input: 'Hello', whenBusy: 'queue' })],
    ['a repeated run request', { ...post('runs', again), accept: 'text/event-stream' }],
    ['a retry', post('retry', {})],
    ['an edit', post('edit', { messageId: 'm-r1', input: 'Hello' })],
    ['a confirmation', post('resume', { mode: 'with-confirmation', approved: true })],
    ['an upload', { path: '/api/sessions/s/uploads', raw: 'a file of ann' }],
  ])('is hidden from a request of its former owner: %s', async (_, sent) => {
    const { during } = await testServer()
    let nth = 0
    for (let result = await during(nth, sent); result !== undefined; result = await during(++nth, sent)) {
      expect([nth, result]).toEqual([nth, expect.not.stringContaining(SECRET)])
    }
    expect(nth).toBeGreaterThan(0)
  })

  test('hides its files from its former owner', async () => {
    const { during, hashes } = await testServer()
    const sent = { path: `/api/sessions/s/uploads/${hashes[1]}` }
    for (const nth of [0, 1, 2]) expect(await during(nth, sent)).toMatch(/^404 /)
  })
})

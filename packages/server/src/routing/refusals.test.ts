import { describe, expect, it } from 'vitest'
import { routes } from '../app/routes.ts'
import { dialects } from '../dialects/routes.ts'
import { type InvalidRequest, invalidRequestsFor, LONG } from './refusals.fixture.ts'
import type { Route } from './route.ts'
import { type ReadReply, SECRETS, sharedServer, type TwoUserServer } from './two-user-server.fixture.ts'
import { prepareSessions, type ValidRequest, validRequests } from './valid-requests.fixture.ts'

/** Texts that would reveal paths, code or internals of the server. */
const TELLTALES = [
  /\bat .*[:(]\d+/,
  /\.[jt]s\b/,
  /node_modules|packages\/|file:\/\//,
  /zod|TypeError|SyntaxError|undefined/i,
]

function expectNoSecrets(label: string, { text, headers }: ReadReply): void {
  const replyText = `${text} ${JSON.stringify([...headers])}`
  for (const telltale of TELLTALES) expect([label, telltale.exec(replyText)?.[0]]).toEqual([label, undefined])
  for (const secret of Object.values(SECRETS)) expect([label, replyText.includes(secret)]).toEqual([label, false])
  expect([label, replyText.includes(LONG.slice(0, 300))]).toEqual([label, false])
  expect([label, text.length < 1000]).toEqual([label, true])
}

async function refuse(testServer: TwoUserServer, { label, status, code, ...sent }: InvalidRequest): Promise<ReadReply> {
  const reply = await testServer.send(sent)
  const { error } = (reply.json ?? {}) as { error?: { code: string; message: string; retryable: boolean } }
  expect([label, reply.status, code === undefined ? undefined : error?.code]).toEqual([label, status, code])
  if (sent.method !== 'HEAD')
    expect([label, typeof error?.code, typeof error?.message]).toEqual([label, 'string', 'string'])
  expectNoSecrets(label, reply)
  return reply
}

const native = routes.filter(route => !dialects.includes(route))

const keyOf = ({ method, path }: Route) => `${method} ${path}`
const isOfSession = ({ path }: Route) => path.includes(':sessionId')
/** In a missing session, a run or an upload creates a session of the caller: sessions/shared-ids.test.ts has these routes. */
const createsSession = ({ action }: Route) => action === 'run' || action === 'upload'

const all = sharedServer(prepareSessions)

/** The valid request of a route. */
function validRequestFor(key: string): ValidRequest {
  const request = validRequests(all().prepared)[key]
  if (request === undefined) throw new Error(`${key}: there is no valid request`)
  return request
}

describe.each(native.map(route => [keyOf(route), route] as const))('%s', (key, route) => {
  it('refuses invalid requests with typed errors, and changes no log', async () => {
    const { testServer } = all()
    const before = await testServer.storeContent()
    const bad = invalidRequestsFor(route, validRequestFor(key))
    expect(bad.length).toBeGreaterThan(4)
    for (const one of bad) {
      await refuse(testServer, one)
      expect([one.label, (await testServer.storeContent()) === before]).toEqual([one.label, true])
    }
    expect(testServer.logged).toEqual([])
    expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined()
  })

  it('is authorized with its action and session, and refuses all other callers', async () => {
    const { testServer } = all()
    const { status: _, isLive: __, ...request } = validRequestFor(key)
    const before = await testServer.storeContent()
    testServer.authorizeRequests.length = 0
    await refuse(testServer, { ...request, user: null, label: 'nobody', status: 401, code: 'unauthorized' })
    const sessionId = route.path.includes(':sessionId') ? /\/sessions\/(\w+)/.exec(request.path)?.[1] : undefined
    const authorizeRequests = testServer.authorizeRequests.map(({ action, ...about }) => ({
      action,
      sessionId: about.sessionId,
    }))
    expect(authorizeRequests).toEqual([{ action: route.action, sessionId }])
    expect(await testServer.storeContent()).toBe(before)
  })
})

describe.each(
  native.filter(route => isOfSession(route) && !createsSession(route)).map(route => [keyOf(route)] as const),
)('%s', key => {
  it('hides sessions of other owners', async () => {
    const { testServer } = all()
    const { status: _, isLive: __, ...request } = validRequestFor(key)
    const before = await testServer.storeContent()
    const otherUser = { ...request, user: 'bob', status: 404, code: 'session_unknown' }
    const foreign = await refuse(testServer, { ...otherUser, label: 'foreign' })
    expect(await testServer.storeContent()).toBe(before)
    const name = /sessions\/(\w+)/.exec(request.path)?.[1] ?? ''
    const unknown = await refuse(testServer, {
      ...otherUser,
      path: request.path.replace(name, 'nobodys'),
      label: 'unknown',
    })
    expect(foreign.text.replace(name, 'nobodys')).toBe(unknown.text)
    expect([...foreign.headers]).toEqual([...unknown.headers])
    expect(await testServer.storeContent()).toBe(before)
  })
})

describe('an unknown path', () => {
  it('is refused in the same way for every method', async () => {
    const { testServer } = all()
    testServer.authorizeRequests.length = 0
    for (const path of [
      '/',
      '/api',
      '/api/',
      '/API/health',
      '/api//health',
      '/api/health/',
      '/api/%68ealth',
      '/apix/health',
      '/api/sessions//',
      '/api/__proto__',
      '/api/constructor',
    ]) {
      await refuse(testServer, { path, label: path, status: 404, code: 'route_unknown' })
    }
    await refuse(testServer, {
      path: `/api/${LONG.repeat(60)}`,
      label: 'a long path',
      status: 404,
      code: 'route_unknown',
    })
    expect(testServer.authorizeRequests).toEqual([])
  })
})

// Behaviour of every dialect route: clients choose the content of a request, the server decides whether, for whom and in which session it runs.

import { describe, expect, it } from 'vitest'
import {
  commonInvalidRequestsFor,
  type InvalidRequest,
  LONG,
  requestsWithInvalidFields,
} from '../routing/refusals.fixture.ts'
import type { Route } from '../routing/route.ts'
import {
  type ReadReply,
  SECRETS,
  sharedServer,
  type TestRequest,
  type TwoUserServer,
} from '../routing/two-user-server.fixture.ts'
import { prepareSessions, type ValidRequest, validRequests } from '../routing/valid-requests.fixture.ts'
import { dialects } from './routes.ts'

/** Whether authorize accepts a caller for a session, once it is named. */
const access = { isGranted: true }

const all = sharedServer(prepareSessions, {
  authorize: ({ request, sessionId }) => {
    const user = request.headers.get('x-user')
    return sessionId === undefined || access.isGranted || user === null ? user : { refuse: 'not this one' }
  },
})

const keyOf = ({ method, path }: Route) => `${method} ${path}`

function validRequestFor(key: string): TestRequest {
  const valid = validRequests(all().prepared)[key]
  if (valid === undefined) throw new Error(`add a valid request for ${key} to valid-dialect-requests.fixture.ts`)
  const { status, isLive, ...sent } = valid
  return sent
}

/** The session of a route's valid request: in its path, query or body. */
function sessionOf({ path: pattern }: Route, { path, body }: TestRequest): string {
  const at = `/api${pattern}`.split('/').indexOf(':sessionId')
  if (at >= 0) return path.split(/[/?]/)[at] as string
  const { groups } =
    /"(?:id|\w+Id)":"(?<id>session-of-[\w-]+)"/.exec(JSON.stringify(body)) ??
    /"(?:session|conversation|thread)Id":"(?<id>[^"]+)"/.exec(JSON.stringify(body)) ??
    /(?:session|conversation|thread)Id=(?<id>[^&]+)/.exec(path) ??
    {}
  if (groups?.['id'] === undefined) throw new Error(`${pattern}: its valid request names no session`)
  return groups['id']
}

/** The request for another session. */
function about(route: Route, sent: TestRequest, name: string): TestRequest {
  const session = sessionOf(route, sent)
  const renamed = (text: string) => text.replaceAll(session, name)
  return {
    ...sent,
    path: renamed(sent.path),
    ...(sent.body !== undefined && { body: JSON.parse(renamed(JSON.stringify(sent.body))) }),
  }
}

/** The error of a reply, in the shape of the dialect. */
function codeOf({ json }: ReadReply): string | undefined {
  const { error, code } = (json ?? {}) as { error?: { code?: string } | string; code?: string }
  return typeof error === 'string' ? code : error?.code
}

function expectNoSecrets(label: string, { text, headers }: ReadReply): void {
  const replyText = `${text} ${JSON.stringify([...headers])}`
  for (const secret of Object.values(SECRETS)) expect([label, replyText.includes(secret)]).toEqual([label, false])
  expect([label, /\bat .*[:(]\d+|node_modules|file:\/\/|TypeError/.exec(replyText)?.[0]]).toEqual([label, undefined])
}

/** Sends a request that is refused and must change nothing. */
async function refuse(testServer: TwoUserServer, { label, status, code, ...sent }: InvalidRequest): Promise<ReadReply> {
  const before = await testServer.storeContent()
  const reply = await testServer.send(sent)
  expect([label, reply.status, code ?? codeOf(reply)]).toEqual([label, status, codeOf(reply)])
  if (sent.method !== 'HEAD') expect([label, typeof codeOf(reply)]).toEqual([label, 'string'])
  expectNoSecrets(label, reply)
  expect([label, (await testServer.storeContent()) === before]).toEqual([label, true])
  return reply
}

describe.each(dialects.map(route => [keyOf(route), route] as const))('%s', (key, route) => {
  it('refuses invalid requests with typed errors, and changes no log', async () => {
    const { testServer } = all()
    const bad = commonInvalidRequestsFor(route, validRequestFor(key) as ValidRequest)
    expect(bad.length).toBeGreaterThan(4)
    for (const one of bad) await refuse(testServer, one)
    expect(testServer.logged).toEqual([])
  })

  it('treats any field value as the client’s fault, and changes no log if it refuses', async () => {
    const { testServer } = all()
    const sent = validRequestFor(key)
    // The error must be about nothing else.
    const bad = route.body ? requestsWithInvalidFields(about(route, sent, 'of-nobody-yet') as ValidRequest) : []
    for (const { label, status: _, code: __, ...one } of bad) {
      const before = await testServer.storeContent()
      const reply = await testServer.send(one)
      expect([label, reply.status < 500]).toEqual([label, true])
      expectNoSecrets(label, reply)
      if (reply.status < 400) continue
      expect([label, typeof codeOf(reply)]).toEqual([label, 'string'])
      expect([label, reply.text.includes(LONG)]).toEqual([label, false])
      expect([label, (await testServer.storeContent()) === before]).toEqual([label, true])
    }
    expect(testServer.logged).toEqual([])
    expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined()
  })

  it('refuses an invalid session id, wherever it is', async () => {
    const { testServer } = all()
    const sent = validRequestFor(key)
    const inPath = route.path.includes(':sessionId')
    for (const name of ['.', '..', 'stream', 'a\u0000b', 'x'.repeat(300)]) {
      const isUrl = inPath || sent.body === undefined
      const written = isUrl ? encodeURIComponent(name) : JSON.stringify(name).slice(1, -1)
      // URL parsers resolve a dot in a path before the server sees it.
      if (inPath && name.startsWith('.')) continue
      await refuse(testServer, { ...about(route, sent, written), label: name, status: 400 })
    }
  })

  it('is authorized for its action, then for the session, and refuses all other callers', async () => {
    const { testServer } = all()
    const sent = validRequestFor(key)
    await refuse(testServer, { ...sent, user: null, label: 'nobody', status: 401, code: 'unauthorized' })
    access.isGranted = false
    try {
      await refuse(testServer, { ...sent, label: 'not into it', status: 403, code: 'forbidden' })
    } finally {
      access.isGranted = true
    }
  })

  it('hides sessions of other owners: the reply is the same as for a missing session, or a refusal', async () => {
    const { testServer } = all()
    // A message in a missing session creates a session of the caller: sessions/shared-ids.test.ts has these routes.
    if (route.action === 'run') return
    const sent = { ...validRequestFor(key), user: 'bob' }
    const before = await testServer.storeContent()
    const foreign = await testServer.send(about(route, sent, 'mine'))
    expect(await testServer.storeContent()).toBe(before)
    const unknown = await testServer.send(about(route, sent, 'nobodys'))
    expect([foreign.status, foreign.text.replaceAll('mine', 'nobodys')]).toEqual([unknown.status, unknown.text])
    // Nor an active run there.
    const busy = await testServer.send(about(route, sent, 'waiting'))
    expect([busy.status, busy.text.replaceAll('waiting', 'nobodys')]).toEqual([unknown.status, unknown.text])
    expect(await testServer.storeContent()).toBe(before)
  })
})

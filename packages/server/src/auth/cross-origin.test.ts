import { beforeAll, describe, expect, it } from 'vitest'
import { routes } from '../app/routes.ts'
import type { Route } from '../routing/route.ts'
import { ORIGIN, openTwoUserServer, sharedServer } from '../routing/two-user-server.fixture.ts'
import { prepareSessions, validRequests } from '../routing/valid-requests.fixture.ts'

const EVIL = 'https://evil.example'

const changing = routes.filter(({ method }) => method !== 'GET')
const keyOf = ({ method, path }: Route) => `${method} ${path}`

const shared = sharedServer(prepareSessions)

/** A request of a page of another site for each kind of browser and form: the caller's cookies come with it. */
const FORGED: Readonly<Record<string, Record<string, string>>> = {
  'a page of another site': { 'sec-fetch-site': 'cross-site', origin: EVIL },
  'a page of another subdomain': { 'sec-fetch-site': 'same-site', origin: 'http://other.localhost:4400' },
  'a sandboxed page': { 'sec-fetch-site': 'cross-site', origin: 'null' },
  'a page whose origin is hidden': { 'sec-fetch-site': 'cross-site' },
  'a page in a browser without Sec-Fetch-Site': { origin: EVIL },
  'a sandboxed page in a browser without Sec-Fetch-Site': { origin: 'null' },
  'a page on another port, in a browser without Sec-Fetch-Site': { origin: 'http://localhost:4401' },
}

describe.each(changing.map(route => [keyOf(route), route] as const))('%s', (key, route) => {
  let before: string
  beforeAll(async () => {
    before = await shared().testServer.storeContent()
  })

  it.each(Object.entries(FORGED))('refuses %s, and changes nothing', async (_, forged) => {
    const { testServer, prepared } = shared()
    const valid = validRequests(prepared)[key]
    expect(valid).toBeDefined()
    const { path } = valid ?? { path: '' }
    const withJson = await testServer.send({ ...valid, path, headers: { ...valid?.headers, ...forged } })
    expect([withJson.status, codeIn(withJson.json)]).toEqual([403, 'origin_forbidden'])
    const form = { 'content-type': 'application/x-www-form-urlencoded', ...forged }
    const withoutFields = await testServer.send({ path, method: route.method, raw: '', headers: form })
    expect([withoutFields.status, codeIn(withoutFields.json)]).toEqual([403, 'origin_forbidden'])
    expect(await testServer.storeContent()).toBe(before)
  })
})

const withoutBody = changing.filter(({ takesBytes, method }) => !takesBytes && method !== 'DELETE')

it.each(withoutBody.map(route => [keyOf(route), route] as const))(
  '%s refuses an empty body without a JSON type',
  async (key, { method }) => {
    const { testServer, prepared } = shared()
    const before = await testServer.storeContent()
    const { path } = validRequests(prepared)[key] ?? { path: '' }
    for (const type of ['application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'text/plain', '']) {
      const reply = await testServer.send({ path, method, raw: '', headers: { 'content-type': type } })
      expect([type, reply.status, codeIn(reply.json)]).toEqual([type, 415, 'media_type_unknown'])
    }
    expect(await testServer.storeContent()).toBe(before)
  },
)

describe('a request that changes something', () => {
  const create = (headers: Record<string, string>, path = '/api/sessions') => ({ path, body: {}, headers })

  it.each([
    ['of a program', {}],
    ['of a page of this server', { 'sec-fetch-site': 'same-origin', origin: ORIGIN }],
    ['of a page behind a proxy that rewrites the host', { 'sec-fetch-site': 'same-origin', origin: 'http://dev:5173' }],
    ['of the user', { 'sec-fetch-site': 'none' }],
    ['of a page of this server, in a browser without Sec-Fetch-Site', { origin: ORIGIN }],
    ['of a page behind a proxy that ends TLS', { origin: 'https://app.example', host: 'app.example' }],
  ])('is accepted if it is %s', async (_, headers) => {
    expect((await openTwoUserServer().send(create(headers as Record<string, string>))).status).toBe(201)
  })

  it('is accepted from pages of the origins in cors, and from no others', async () => {
    const testServer = openTwoUserServer({ cors: { origins: ['https://app.example'], credentials: true } })
    const site = { 'sec-fetch-site': 'cross-site' }
    const { status } = await testServer.send(create({ ...site, origin: 'https://app.example' }))
    expect(status).toBe(201)
    for (const origin of [EVIL, 'null', 'https://app.example.evil', 'http://app.example']) {
      expect([origin, (await testServer.send(create({ ...site, origin }))).status]).toEqual([origin, 403])
    }
  })
})

it('lets pages of other origins read, which browsers allow only with cors', async () => {
  const headers = { 'sec-fetch-site': 'cross-site', origin: EVIL }
  const reply = await openTwoUserServer().send({ path: '/api/health', headers })
  expect([reply.status, reply.headers.get('access-control-allow-origin')]).toEqual([200, null])
})

it('changes nothing on a GET', () => {
  const actions = new Set(routes.filter(({ method }) => method === 'GET').map(({ action }) => action))
  expect([...actions].sort()).toEqual(['agents', 'describe', 'download', 'follow', 'health', 'list', 'read'])
})

const codeIn = (json: unknown): unknown => {
  const { error, code } = (json ?? {}) as { error?: { code?: string } | string; code?: string }
  return typeof error === 'object' ? error.code : code
}

import { createRequire } from 'node:module'
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { multiplied } from '../../../../scripts/faults/campaign.ts'
import { routes } from '../app/routes.ts'
import { dialects } from '../dialects/routes.ts'
import { nearlyValid, type Schema } from './document.fixture.ts'
import { openApiOf } from './openapi.ts'
import { openTwoUserServer, type ReadReply, sharedServer, type TwoUserServer } from './two-user-server.fixture.ts'
import { prepareSessions, validRequests } from './valid-requests.fixture.ts'

interface Operation {
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly required?: boolean }[]
  readonly requestBody?: { readonly required: boolean; readonly content: Readonly<Record<string, { schema: Schema }>> }
  readonly responses: Readonly<Record<string, { readonly headers?: object }>>
}

interface Checker {
  compile(schema: Schema): (value: unknown) => boolean
}

// The validator of the document bundles its own JSON Schema implementation.
const checking = createRequire(createRequire(import.meta.url).resolve('@seriousme/openapi-schema-validator'))
const { Ajv2020 } = checking('ajv/dist/2020.js') as { Ajv2020: new (options: object) => Checker }
const ajv = new Ajv2020({ strict: false })

const { paths } = openApiOf(routes) as { paths: Readonly<Record<string, Readonly<Record<string, Operation>>>> }
const pathOf = (path: string): string => path.replace(/:(\w+)/g, '{$1}')
const operationOf = (key: string): Operation => {
  const [method = '', path = ''] = key.split(' ')
  return paths[pathOf(path)]?.[method.toLowerCase()] as Operation
}

const bodies = routes
  .filter(({ body }) => body !== undefined)
  .map(({ method, path }) => {
    const key = `${method} ${path}`
    const { schema = {} } = operationOf(key).requestBody?.content['application/json'] ?? {}
    return [key, schema] as const
  })

const RUNS = multiplied(100)
const all = sharedServer(async testServer => validRequests(await prepareSessions(testServer)), {
  limits: { requestsPerMinute: 10_000_000, sessions: 1_000_000 },
})

const errorIn = ({ json }: ReadReply) => (json as { error?: { code: string; message: string } })?.error

const isForeign = (key: string) => dialects.some(({ method, path }) => `${method} ${path}` === key)

it.each(bodies)('%s accepts exactly the bodies that the document allows', async (key, schema) => {
  const { testServer, prepared: requests } = all()
  const isAllowed = ajv.compile(schema)
  const { path = '', method = 'POST' } = requests[key] ?? {}
  const counts = { allowed: 0, not: 0 }
  await fc.assert(
    fc.asyncProperty(nearlyValid(schema), async body => {
      const sent = JSON.parse(JSON.stringify(body))
      const allowed = isAllowed(sent)
      counts[allowed ? 'allowed' : 'not']++
      const error = errorIn(
        await testServer.send({ path, method, body: sent, headers: { accept: 'application/json' } }),
      )
      // Only the session knows whether the sequence exists.
      if (allowed && key.endsWith('/fork') && sent.at > 0) return
      // Messages of dialect clients are validated against the session.
      if (allowed && isForeign(key)) return
      if (isForeign(key)) return void expect(JSON.stringify(error)).toMatch(/body[.:]/)
      if (allowed) expect(error?.code ?? 'none').not.toMatch(/^(body_invalid|validation_failed)$/)
      else expect(error).toMatchObject({ code: 'body_invalid', message: expect.stringMatching(/^body[.:]/) })
    }),
    { numRuns: RUNS },
  )
  expect(Math.min(counts.allowed, counts.not)).toBeGreaterThan(isForeign(key) ? 0 : RUNS / 20)
})

it.each(bodies)('%s requires a body where the document says so', async key => {
  const { testServer, prepared: requests } = all()
  const { path = '', method = 'POST' } = requests[key] ?? {}
  const reply = await testServer.send({ path, method, headers: { accept: 'application/json' } })
  expect(errorIn(reply)?.code === 'body_invalid').toBe(operationOf(key).requestBody?.required)
})

it('sends exactly the reply headers that the document names', async () => {
  const testServer = openTwoUserServer()
  for (const [key, { status, isLive, ...sent }] of Object.entries(validRequests(await prepareSessions(testServer)))) {
    const response = await testServer.app.fetch(testServer.request(sent))
    const named = Object.keys(operationOf(key).responses[status]?.headers ?? {}).map(name => name.toLowerCase())
    const idHeaders = [...response.headers.keys()].filter(name => /^x-.*-id$/.test(name))
    const isAsked = new Headers(sent.headers).has('x-existing-message-id')
    const hasBody = status !== 204
    const expected = named.filter(name => hasBody && (isAsked || name !== 'x-existing-message-id'))
    expect([key, response.status, idHeaders.sort()]).toEqual([key, status, expected.sort()])
    // A run in flight would affect the next request.
    if (isLive) await response.body?.cancel()
    else await response.text()
  }
})

it('requires the query parameters that the document requires, and takes lists in its form', async () => {
  const testServer: TwoUserServer = openTwoUserServer()
  const native = Object.entries(paths).filter(([path]) => !dialects.some(route => pathOf(route.path) === path))
  const needed = native.flatMap(([path, methods]) =>
    Object.values(methods).flatMap(({ parameters }) =>
      parameters.filter(parameter => parameter.in === 'query' && parameter.required).map(({ name }) => [path, name]),
    ),
  )
  expect(needed).toEqual([['/stream', 'session']])
  for (const id of ['a', 'b']) await testServer.run(id, { agent: 'echo', input: 'Hello' })
  expect(errorIn(await testServer.send({ path: '/api/stream' }))).toMatchObject({ code: 'request_invalid' })
  const response = await testServer.app.fetch(
    testServer.request({ path: '/api/stream?session=a&session=b&after=0&after=0&merge=true' }),
  )
  expect(response.status).toBe(200)
  await response.body?.cancel()
})

it('replies to health checks as the document says, also if unhealthy', async () => {
  const { responses } = operationOf('GET /health') as unknown as {
    responses: Record<string, { content: { 'application/json': { schema: Schema } } }>
  }
  const isFine = async (response: Response, status: number) => {
    const { schema = {} } = responses[status]?.content['application/json'] ?? {}
    expect([response.status, ajv.compile(schema)(await response.json())]).toEqual([status, true])
  }
  const testServer = openTwoUserServer()
  const path = '/api/health'
  await isFine(await testServer.app.fetch(testServer.request({ path })), 200)
  const lost = openTwoUserServer({ store: Promise.reject(new Error('there is none')) as never })
  await isFine(await lost.app.fetch(lost.request({ path })), 503)
  const closing = testServer.app.close()
  await isFine(await testServer.app.fetch(testServer.request({ path })), 503)
  await closing
})

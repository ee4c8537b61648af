import { Validator } from '@seriousme/openapi-schema-validator'
import { expect, it } from 'vitest'
import { openApiOf } from '../routing/openapi.ts'
import { openTwoUserServer } from '../routing/two-user-server.fixture.ts'
import { prepareSessions, validRequests } from '../routing/valid-requests.fixture.ts'
import { routes } from './routes.ts'

const keyOf = ({ method, path }: { method: string; path: string }) => `${method} ${path}`

it('every route accepts its valid request, and its reply matches its schema', async () => {
  const testServer = openTwoUserServer()
  const requests = validRequests(await prepareSessions(testServer))
  const where = 'each route has one request in valid-requests.fixture.ts or valid-dialect-requests.fixture.ts'
  expect(Object.keys(requests).sort(), where).toEqual(routes.map(keyOf).sort())
  for (const [key, { status, isLive, ...sent }] of Object.entries(requests)) {
    if (isLive) {
      const response = await testServer.app.fetch(testServer.request(sent))
      expect([key, response.status]).toEqual([key, status])
      const reader = response.body?.getReader()
      const { value } = (await reader?.read()) ?? {}
      expect(new TextDecoder().decode(value)).not.toBe('')
      await reader?.cancel()
      continue
    }
    const reply = await testServer.send(sent)
    expect([key, reply.status, reply.text.slice(0, 200)]).toEqual([key, status, expect.anything()])
    expect(reply.headers.get('x-content-type-options')).toBe('nosniff')
  }
  const errors = testServer.logged.filter(({ message }) => !message.includes('authorize'))
  expect(errors).toEqual([])
})

it('the OpenAPI document is valid, and describes every route completely', async () => {
  const testServer = openTwoUserServer({ basePath: '/mill' })
  const { json } = await testServer.send({ path: '/mill/api/openapi.json' })
  const { valid, errors } = await new Validator().validate(json as Record<string, unknown>)
  expect([valid, errors]).toEqual([true, undefined])
  const document = json as { paths: Record<string, Record<string, Record<string, object>>> }
  const described = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map(method => `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ':$1')}`),
  )
  expect(described.sort()).toEqual(routes.map(keyOf).sort())
  for (const { method, path, body, takesBytes, query = {}, replies = {}, streams } of routes) {
    const operation = document.paths[path.replace(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()] ?? {}
    expect([path, 'requestBody' in operation]).toEqual([path, body !== undefined || takesBytes === true])
    const parameters = operation['parameters'] as { name: string; in: string }[]
    expect(parameters.filter(parameter => parameter.in === 'query').map(({ name }) => name)).toEqual(Object.keys(query))
    const statuses = Object.keys(operation['responses'] ?? {})
    expect(statuses).toEqual(expect.arrayContaining([...Object.keys(replies), ...(streams ? ['200'] : []), 'default']))
  }
})

it('operation ids are unique', () => {
  const document = openApiOf(routes) as { paths: Record<string, Record<string, { operationId: string }>> }
  const ids = Object.values(document.paths).flatMap(methods =>
    Object.values(methods).map(({ operationId }) => operationId),
  )
  expect(new Set(ids).size).toBe(routes.length)
})

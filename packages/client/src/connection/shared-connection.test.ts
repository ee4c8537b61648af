import { expect, test } from 'vitest'
import { FakeStreamServer } from './fake-stream-server.fixture.ts'
import { sharedConnection } from './page-connection.ts'
import { followed } from './recording-follower.fixture.ts'

test.each([
  ['equal headers', { headers: { A: '1', b: '2' } }, { headers: new Headers({ B: '2', a: '1' }) }],
  ['a URL with a slash at its end', { api: '/api/' }, { api: '/api' }],
  ['the defaults', {}, { api: '/api', headers: {}, credentials: 'same-origin' }],
] as const)('shares a connection for %s', (_, first, second) => {
  const { fetch } = new FakeStreamServer()
  const connection = sharedConnection({ ...first, fetch })
  expect(sharedConnection({ ...second, fetch })).toBe(connection)
})

test.each([
  ['other headers', { headers: { a: '1' } }, { headers: { a: '2' } }],
  ['another server', { api: '/api' }, { api: '/other' }],
  ['other credentials', { credentials: 'omit' }, { credentials: 'include' }],
  ['another function', { headers: () => ({}) }, { headers: () => ({}) }],
] as const)('creates another connection for %s', (_, first, second) => {
  const { fetch } = new FakeStreamServer()
  expect(sharedConnection({ ...first, fetch })).not.toBe(sharedConnection({ ...second, fetch }))
})

test('keeps a connection without followers when another is created', async () => {
  const { fetch } = new FakeStreamServer()
  const x = sharedConnection({ api: '/x', fetch })
  const y = sharedConnection({ api: '/y', fetch })
  expect([sharedConnection({ api: '/x', fetch }), sharedConnection({ api: '/y', fetch })]).toEqual([x, y])
  followed(x).subscription.close()
  sharedConnection({ api: '/z', fetch })
  expect(sharedConnection({ api: '/x', fetch })).toBe(x)
})

test('uses the options of the chat in its requests', async () => {
  const server = new FakeStreamServer()
  const connection = sharedConnection({ api: '/here/', headers: { a: '1' }, fetch: server.fetch })
  const { subscription } = followed(connection)
  await server.stream(1)
  expect(server.requests[0]).toMatchObject({ path: '/here/stream?session=s&after=0' })
  expect(server.requests[0]?.headers.get('a')).toBe('1')
  subscription.close()
})

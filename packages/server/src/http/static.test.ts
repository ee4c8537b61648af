import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { request, testApp } from '../app/test-app.fixture.ts'
import { PAGE_POLICY } from './static.ts'

let home: string
let folder: string

beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'millrace-static-'))
  folder = join(home, 'public')
  mkdirSync(join(folder, 'docs'), { recursive: true })
  mkdirSync(join(folder, '.git'))
  writeFileSync(join(home, 'secret.txt'), 'secret')
  writeFileSync(join(folder, 'index.html'), '<h1>Mill</h1>')
  writeFileSync(join(folder, 'docs', 'index.html'), '<h1>Docs</h1>')
  writeFileSync(join(folder, 'app.js'), 'go()')
  writeFileSync(join(folder, 'with space.txt'), 'spaced')
  writeFileSync(join(folder, '.env'), 'KEY=secret')
  writeFileSync(join(folder, '.git', 'config'), 'secret')
  symlinkSync(join(home, 'secret.txt'), join(folder, 'out.txt'))
  symlinkSync(home, join(folder, 'up'))
  symlinkSync(join(folder, '.env'), join(folder, 'env.txt'))
  symlinkSync(join(folder, 'app.js'), join(folder, 'same.js'))
})
afterAll(() => rmSync(home, { recursive: true }))

test('serves files with their content types, and pages with a strict content security policy', async () => {
  const { app } = testApp({ static: folder })
  const page = await app.fetch(request('/'))
  expect([page.status, await page.text()]).toEqual([200, '<h1>Mill</h1>'])
  expect(Object.fromEntries(page.headers)).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': PAGE_POLICY,
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-cache',
  })
  expect(PAGE_POLICY).toContain("default-src 'self'")
  const script = await app.fetch(request('/app.js'))
  expect([script.headers.get('content-type'), await script.text()]).toEqual(['text/javascript; charset=utf-8', 'go()'])
  expect(await (await app.fetch(request('/with%20space.txt?v=1'))).text()).toBe('spaced')
  expect(await (await app.fetch(request('/same.js'))).text()).toBe('go()')
})

test('redirects a folder to its path with a slash', async () => {
  const { app } = testApp({ static: folder })
  expect(await (await app.fetch(request('/docs/'))).text()).toBe('<h1>Docs</h1>')
  const moved = await app.fetch(request('/docs'))
  expect([moved.status, moved.headers.get('location')]).toEqual([308, './docs/'])
  expect((await app.fetch(request('/app.js/'))).status).toBe(404)
  // A path never becomes a host.
  const far = await app.fetch(request('//docs'))
  expect(far.headers.get('location')).toBe('./docs/')
})

test.each([
  '/../secret.txt',
  '/%2e%2e/secret.txt',
  '/%2e%2e%2fsecret.txt',
  '/..%5csecret.txt',
  '/docs/..%2f..%2fsecret.txt',
  '/out.txt',
  '/up/secret.txt',
  '/up/',
  '/.env',
  '/env.txt',
  '/%2eenv',
  '/.git/config',
  '/app.js%00.html',
  '/%zz',
  '/nothing.html',
  '/docs/nothing',
])('does not serve %s', async path => {
  const { app } = testApp({ static: folder })
  const response = await app.fetch(request(path))
  expect([response.status, await response.json()]).toMatchObject([404, { error: { code: 'route_unknown' } }])
})

test('replies 304 for a matching ETag, and to HEAD with headers only', async () => {
  const { app } = testApp({ static: folder })
  const etag = (await app.fetch(request('/app.js'))).headers.get('etag') ?? ''
  for (const known of [etag, `"other", W/${etag}`, '*']) {
    const again = await app.fetch(request('/app.js', undefined, { headers: { 'if-none-match': known } }))
    expect([again.status, await again.text(), again.headers.get('etag')]).toEqual([304, '', etag])
  }
  const other = await app.fetch(request('/app.js', undefined, { headers: { 'if-none-match': '"other"' } }))
  expect(other.status).toBe(200)
  const head = await app.fetch(request('/app.js', undefined, { method: 'HEAD' }))
  expect([head.status, head.body, head.headers.get('content-length'), head.headers.get('etag')]).toEqual([
    200,
    null,
    '4',
    etag,
  ])
})

test('lets headers be overridden, and serves files below the base path', async () => {
  const headers = { 'Content-Security-Policy': "default-src 'none'" }
  const { app } = testApp({ static: { folder, headers }, basePath: '/mill' })
  const page = await app.fetch(request('/mill/'))
  expect(page.headers.get('content-security-policy')).toBe("default-src 'none'")
  expect((await app.fetch(request('/'))).status).toBe(404)
  expect((await app.fetch(request('/mill/api/health'))).status).toBe(200)
})

test('serves nothing of a missing folder, and refuses POST', async () => {
  const { app, logged } = testApp({ static: join(home, 'nowhere') })
  expect((await app.fetch(request('/'))).status).toBe(404)
  const { app: other } = testApp({ static: folder })
  expect((await other.fetch(request('/app.js', {}))).status).toBe(404)
  expect(logged.filter(({ level }) => level === 'error')).toEqual([])
})

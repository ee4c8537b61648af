import { agent, scriptedModel } from '@millrace/runtime'
import { expect, test } from 'vitest'
import type { App } from '../app/app.ts'
import { ORIGIN, request, testApp } from '../app/test-app.fixture.ts'

const PNG = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0a, 0])
const HASH = /^[0-9a-f]{64}$/

interface Kept {
  readonly hash: string
  readonly url: string
}

const put = (app: App, body: BodyInit, headers: Record<string, string>, session = 's'): Promise<Response> =>
  app.fetch(new Request(`${ORIGIN}/api/sessions/${session}/uploads`, { method: 'POST', body, headers }))
const get = (app: App, hash: string, session = 's', headers: Record<string, string> = {}): Promise<Response> =>
  app.fetch(request(`/api/sessions/${session}/uploads/${hash}`, undefined, { headers }))

test('stores a file, creates its session if needed, and serves it unchanged', async () => {
  const { app } = testApp()
  const filename = 'Mühle (1).png'
  const kept = await put(app, PNG, { 'content-type': 'image/png', 'x-filename': encodeURIComponent(filename) })
  const upload = (await kept.json()) as Kept
  expect([kept.status, upload]).toEqual([
    201,
    {
      hash: expect.stringMatching(HASH),
      url: `upload:${upload.hash}`,
      bytes: PNG.length,
      mediaType: 'image/png',
      filename,
    },
  ])
  const back = await get(app, upload.hash)
  expect(new Uint8Array(await back.arrayBuffer())).toEqual(PNG)
  expect(Object.fromEntries(back.headers)).toMatchObject({
    'content-type': 'image/png',
    'content-disposition': "inline; filename*=UTF-8''M%C3%BChle%20%281%29.png",
    'content-security-policy': "sandbox; default-src 'none'",
    'x-content-type-options': 'nosniff',
    'cache-control': 'private, max-age=31536000, immutable',
  })
})

test.each([
  ['image/svg+xml', 'inline'],
  ['audio/mpeg', 'inline'],
  ['video/mp4', 'inline'],
  ['application/pdf', 'inline'],
  ['text/plain; charset=utf-8', 'inline'],
  ['text/html', 'attachment'],
  ['application/xhtml+xml', 'attachment'],
  ['text/javascript', 'attachment'],
  ['application/octet-stream', 'attachment'],
])('serves a file of type %s as %s', async (type, disposition) => {
  const { app } = testApp()
  const { hash } = (await (await put(app, '<script>', { 'content-type': type })).json()) as Kept
  const { headers } = await get(app, hash)
  expect([headers.get('content-type'), headers.get('content-disposition')]).toEqual([type, disposition])
})

test('refuses an empty, mislabelled or too large file, and creates no session', async () => {
  const { app } = testApp({ limits: { uploadBytes: 10 } })
  const image = { 'content-type': 'image/png' }
  const refusals: [BodyInit, Record<string, string>, number, string][] = [
    ['', image, 400, 'body_invalid'],
    ['x'.repeat(11), image, 413, 'body_too_large'],
    ['x', { 'content-type': 'image' }, 415, 'media_type_unknown'],
    ['x', { 'content-type': 'image/png\u00e9' }, 415, 'media_type_unknown'],
    ['x', { ...image, 'x-filename': '%zz' }, 400, 'request_invalid'],
    ['x', { ...image, 'x-filename': '..%2Fetc' }, 400, 'request_invalid'],
    ['x', { ...image, 'x-filename': 'a%0d%0ab' }, 400, 'request_invalid'],
    ['x', { ...image, 'x-filename': 'a'.repeat(300) }, 400, 'request_invalid'],
  ]
  for (const [body, headers, status, code] of refusals) {
    const response = await put(app, body, headers)
    expect([response.status, (await response.json()).error.code]).toEqual([status, code])
  }
  expect((await (await app.fetch(request('/api/sessions'))).json()).sessions).toEqual([])
  expect((await put(app, 'x'.repeat(10), image)).status).toBe(201)
})

test('serves a file only to its owner and only in its session', async () => {
  const authorize = ({ request: incoming }: { request: Request }) => incoming.headers.get('x-who')
  const { app } = testApp({ authorize })
  const ann = { 'content-type': 'text/plain', 'x-who': 'ann' }
  const { hash } = (await (await put(app, 'mine', ann)).json()) as Kept
  expect((await put(app, 'other', ann, 't')).status).toBe(201)
  expect(await (await get(app, hash, 's', { 'x-who': 'ann' })).text()).toBe('mine')
  const refused = [
    await get(app, hash, 's', { 'x-who': 'ben' }),
    await get(app, hash, 't', { 'x-who': 'ann' }),
    await get(app, hash),
  ]
  expect(refused.map(({ status }) => status)).toEqual([404, 404, 401])
  // A session of another owner with the same id.
  expect((await put(app, 'yours', { ...ann, 'x-who': 'ben' })).status).toBe(201)
  expect((await get(app, hash, 's', { 'x-who': 'ben' })).status).toBe(404)
})

test('passes an uploaded file of a message to the model with its bytes', async () => {
  const seen: unknown[] = []
  const model = scriptedModel(({ options }) => {
    seen.push(options.prompt.at(-1)?.content)
    return { text: 'A mill.' }
  })
  const { app } = testApp({ agents: [agent({ name: 'eye', model })] })
  const { url } = (await (await put(app, PNG, { 'content-type': 'image/png' })).json()) as Kept
  const parts = [
    { type: 'text', text: 'What is it?' },
    { type: 'file', mediaType: 'image/png', url },
  ]
  const run = await app.fetch(request('/api/sessions/s/runs', { agent: 'eye', input: { parts } }))
  expect(await run.text()).toContain('"status":"completed"')
  expect(seen).toEqual([
    [
      { type: 'text', text: 'What is it?' },
      {
        type: 'file',
        mediaType: 'image/png',
        data: { type: 'data', data: Buffer.from(PNG).toString('base64') },
      },
    ],
  ])
})

test('refuses a message with unknown or too large files before anything runs', async () => {
  const { app } = testApp({ limits: { attachedBytes: 15 } })
  const text = { 'content-type': 'text/plain' }
  const [one, two] = (await Promise.all(
    ['ten bytes!', 'ten others'].map(async body => (await put(app, body, text)).json()),
  )) as [Kept, Kept]
  const file = (url: unknown) => ({ type: 'file', mediaType: 'text/plain', url })
  const run = (session: string, ...urls: unknown[]) =>
    app.fetch(request(`/api/sessions/${session}/runs`, { agent: 'echo', input: { parts: urls.map(file) } }))
  const statusAndError = async (response: Response) => [response.status, (await response.json()).error]
  expect(await statusAndError(await run('s', 'upload:abc'))).toMatchObject([
    400,
    { code: 'upload_unknown', message: expect.stringContaining('upload:abc') },
  ])
  expect(await statusAndError(await run('s', one.url, two.url))).toMatchObject([413, { code: 'input_too_large' }])
  expect(await statusAndError(await run('s', 7))).toMatchObject([400, {}])
  // Another session does not have the file, and the request does not create one.
  expect(await statusAndError(await run('t', one.url))).toMatchObject([400, { code: 'upload_unknown' }])
  expect((await app.fetch(request('/api/sessions/t'))).status).toBe(404)
  const { view } = await (await app.fetch(request('/api/sessions/s'))).json()
  expect(view.runs).toEqual([])
  expect(await (await run('s', one.url)).text()).toContain('"status":"completed"')
  const { view: after } = await (await app.fetch(request('/api/sessions/s'))).json()
  const messageId = after.messages[0].id
  const edited = request('/api/sessions/s/edit', { messageId, input: { parts: [file('upload:abc')] } })
  expect(await statusAndError(await app.fetch(edited))).toMatchObject([400, { code: 'upload_unknown' }])
})

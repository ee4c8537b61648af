import type { ClientMessage, UserPart } from '@millrace/dialects'
import { agent, scriptedModel } from '@millrace/runtime'
import { describe, expect, test } from 'vitest'
import { MIN_COUNTED_BYTES } from '../../sessions/upload-quota.ts'
import { codeOf, openDialectServer, requestWith, user } from '../dialect-server.fixture.ts'
import { withUrls } from './inline-files.ts'
import { contentOf } from './transcript.ts'

const bytes = (size: number, fill = 7) => Buffer.alloc(size, fill)
const dataUrl = (data: Buffer, type = 'image/png') => `data:${type};base64,${data.toString('base64')}`
const file = (url: string, more: object = {}) => ({ type: 'file', mediaType: 'image/png', url, ...more }) as UserPart
const messageWithFiles = (id: string | undefined, ...files: readonly UserPart[]): ClientMessage => ({
  id,
  parts: [{ type: 'text', text: 'Look' }, ...files],
})

/** A server whose agent lists the files it received. */
async function openFileServer(options: Parameters<typeof openDialectServer>[0] = {}) {
  const seen: unknown[] = []
  const model = scriptedModel(({ options: { prompt } }) => {
    const content = prompt.findLast(({ role }) => role === 'user')?.content ?? []
    for (const part of content) if (typeof part === 'object' && part.type === 'file') seen.push(part)
    return { text: 'I see.' }
  })
  const at = await openDialectServer({ agents: [agent({ name: 'teller', model })], ...options })
  const files = async (session = 's') =>
    (await at.services.runtime.view(session)).view.messages.flatMap(({ parts }) =>
      parts.flatMap(part => (part.type === 'file' && 'url' in part ? [part] : [])),
    )
  return { at, seen, files }
}

describe('a file inside a message', () => {
  test('is stored once as an upload of the session, and the model gets its bytes', async () => {
    const { at, seen, files } = await openFileServer()
    const large = bytes(1024 * 1024)
    const first = messageWithFiles('u1', file(dataUrl(large), { filename: 'wheel.png' }))
    const runId = await at.runToEnd('s', requestWith(first))
    const [part] = await files()
    const { url = '' } = part as { url?: string }
    expect(url).toMatch(/^upload:[0-9a-f]{64}$/)
    const kept = await at.services.runtime.uploaded('s', url.slice('upload:'.length))
    expect(kept).toMatchObject({ mediaType: 'image/png', filename: 'wheel.png' })
    expect(large.equals(kept?.data as Uint8Array)).toBe(true)
    expect(seen).toHaveLength(1)
    expect(JSON.stringify(seen)).toContain('image/png')
    expect(JSON.stringify(await at.log('s')).length).toBeLessThan(10_000)
    // A page repeats the data URL with each request; a client that has read the session sends the upload URL.
    const withoutId = { ...first, id: undefined }
    for (const same of [first, withoutId, messageWithFiles('u1', file(url)), messageWithFiles(undefined, file(url))]) {
      expect(await at.runToEnd('s', requestWith(same))).toBe(runId)
    }
    await at.runToEnd('s', requestWith(first, user('And now?', 'u2')))
    expect(await at.userTexts('s')).toEqual(['Look', 'And now?'])
    expect(await at.runs('s')).toBe(2)
  })

  test('is an edit if its bytes differ, and another request under a run id', async () => {
    const { at, files } = await openFileServer()
    const messageWithImage = (n: number) => messageWithFiles('u1', file(dataUrl(bytes(10, n))))
    await at.runToEnd('s', requestWith(messageWithImage(1)), { runId: 'r1' })
    expect(await at.refused('s', requestWith(messageWithImage(2)), { runId: 'r1' })).toBe('run_ended')
    const before = (await files())[0]
    const { run, action } = await at.takeTurn('s', requestWith(messageWithImage(2)))
    await run.result()
    expect(action).toBe('edit')
    expect(await files()).toHaveLength(1)
    expect((await files())[0]?.url).not.toBe(before?.url)
  })

  test('equals a file that was logged as a data URL before', async () => {
    const { at } = await openFileServer()
    const url = dataUrl(bytes(10))
    const input = { parts: [{ type: 'text' as const, text: 'Look' }, file(url)] }
    const { services } = at
    await services.manager.createStream('s', 'ann')
    const run = await services.runtime.start({
      agent: 'teller',
      session: 's',
      input,
      messageId: 'u1',
      principal: 'ann',
    })
    await run.result()
    expect(await at.runToEnd('s', requestWith(messageWithFiles('u1', file(url))))).toBe(run.runId)
  })

  test('has the limits of uploads, and is not stored if it is refused', async () => {
    const { at } = await openFileServer({ limits: { uploadBytes: 100, attachedBytes: 150, inputBytes: 400 } })
    const bad = [
      messageWithFiles('u1', file(dataUrl(bytes(101)))),
      messageWithFiles('u1', file(dataUrl(bytes(90, 1))), file(dataUrl(bytes(90, 2)))),
    ]
    for (const one of bad) expect(await codeOf(at.takeTurn('s', requestWith(one)))).toBe('input_too_large')
    expect((await at.services.manager.listStreams('ann')).streams).toEqual([])
    // In the size of the message, files count as their URLs.
    await at.runToEnd('s', requestWith(messageWithFiles('u1', file(dataUrl(bytes(100))))))
  })

  test('has the quota of uploads, and needs no room when it is sent again', async () => {
    const limits = { sessionUploadedBytes: 2 * MIN_COUNTED_BYTES, ownerUploadedBytes: 3 * MIN_COUNTED_BYTES }
    const { at } = await openFileServer({ limits })
    const lookAt = (id: string, n: number) => messageWithFiles(id, file(dataUrl(bytes(10, n))))
    const [first, second, third] = [lookAt('u1', 1), lookAt('u2', 2), lookAt('u3', 3)]
    const runId = await at.runToEnd('s', requestWith(first))
    await at.runToEnd('s', requestWith(first, second))
    expect(await at.refused('s', requestWith(first, second, third))).toBe('uploads_limit')
    await at.runToEnd('other', requestWith(third))
    expect(await codeOf(at.takeTurn('new', requestWith(lookAt('u4', 4))))).toBe('uploads_limit')
    expect((await at.services.manager.listStreams('ann')).streams.map(({ streamId }) => streamId)).toEqual([
      'other',
      's',
    ])
    expect(await at.runToEnd('s', requestWith(first))).toBe(runId)
  })

  test('needs permission to upload', async () => {
    const allowed = ['run']
    const { at } = await openFileServer({
      authorize: ({ action, request }) =>
        allowed.includes(action) ? request.headers.get('x-user') : { refuse: 'not that' },
    })
    const posted = requestWith(messageWithFiles('u1', file(dataUrl(bytes(10)))))
    expect(await at.refused('s', posted)).toBe('forbidden')
    expect((await at.services.manager.listStreams('ann')).streams).toEqual([])
    allowed.push('upload')
    await at.runToEnd('s', posted)
  })
})

test.each([
  ['in base64', 'data:image/png;base64,aGk=', 'image/png'],
  ['with parameters', 'data:text/plain;charset=utf-8;base64,aGk=', 'text/plain'],
  ['as text', 'data:text/plain,hi%20there', 'text/plain'],
  ['without a media type', 'data:;base64,aGk=', 'application/octet-stream'],
])('stores a data URL %s', (_, url, type) => {
  const [part] = withUrls([file(url, { mediaType: undefined })])
  expect(part).toMatchObject({ url: expect.stringMatching(/^upload:/) })
  expect(contentOf([part as UserPart])).toBe(contentOf([file(url, { mediaType: type })]))
})

test.each(['data:', 'data:,', 'data:text/plain', 'data:text/plain,%ff', 'https://example.com/a.png', 'upload:x'])(
  'leaves the URL %j unchanged',
  url => {
    const part = file(url)
    expect(withUrls([part])).toEqual([part])
  },
)

test('validates a client’s media type and filename before they become headers', async () => {
  const { at, files } = await openFileServer()
  const odd = file(dataUrl(bytes(3), 'text/html\r\nx-evil: 1'), { mediaType: 'image/*', filename: '../a\r\nb' })
  await at.runToEnd('s', requestWith(messageWithFiles('u1', odd)))
  const [part] = await files()
  const kept = await at.services.runtime.uploaded('s', (part as { url: string }).url.slice('upload:'.length))
  expect(kept).toMatchObject({ mediaType: 'application/octet-stream' })
  expect(kept).not.toHaveProperty('filename')
})

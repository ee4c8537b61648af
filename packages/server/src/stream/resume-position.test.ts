import { decodeNdjsonStream, decodeSseStream, type Frame } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import type { App } from '../app/app.ts'
import { request, runEcho, testApp } from '../app/test-app.fixture.ts'
import { extractResumePosition } from './resume-position.ts'

describe('the position from which a client resumes', () => {
  test.each([
    ['nothing', {}, '0'],
    ['a sequence', { 'x-resume-from-sequence': '7' }, '7'],
    ['an event', { 'last-event-id': '7.i.e' }, '7.i.e'],
    ['both', { 'x-resume-from-sequence': '3', 'last-event-id': '7.i.e' }, '3'],
    ['an empty sequence, and an event', { 'x-resume-from-sequence': '', 'last-event-id': '7' }, '7'],
  ] as const)('is read from its headers: %s', (_, headers, position) => {
    expect(extractResumePosition(new Headers(headers))).toBe(position)
  })

  test.each(['x', '-1', '1.a', '1e3', '9'.repeat(30)])('is refused if it is invalid: %s', token => {
    const invalid = expect.objectContaining({ code: 'cursor_invalid', status: 400 })
    for (const name of ['x-resume-from-sequence', 'last-event-id']) {
      expect(() => extractResumePosition(new Headers({ [name]: token }))).toThrow(invalid)
    }
  })
})

describe('law 2: the stream route', () => {
  const all = async (app: App, query: string, headers: Record<string, string> = {}): Promise<Frame[]> => {
    const response = await app.fetch(request(`/api/sessions/s/stream?live=false${query}`, undefined, { headers }))
    expect(response.status).toBe(200)
    const decode = headers['accept'] === 'application/x-ndjson' ? decodeNdjsonStream : decodeSseStream
    const frames: Frame[] = []
    for await (const frame of decode(response.body as ReadableStream<Uint8Array>)) frames.push(frame)
    return frames
  }
  const firstOf = (frames: readonly Frame[]) => frames.find(({ type }) => type === 'entries') as { after: number }

  test('prefers the query to the headers, and accepts a cursor or a sequence in both', async () => {
    const { app } = testApp()
    await runEcho((path, init) => app.fetch(new Request(`http://localhost:4400${path}`, init)), 'hello')
    const frames = await all(app, '&merge=false')
    const cursors = frames.flatMap(frame => (frame.type === 'caught-up' ? [frame.cursor] : []))
    const [head] = cursors as [string]
    const [, incarnation] = head.split('.')
    expect(firstOf(frames).after).toBe(0)
    expect(firstOf(await all(app, '&after=2', { 'x-resume-from-sequence': '3', 'last-event-id': '4' })).after).toBe(2)
    expect(firstOf(await all(app, '', { 'x-resume-from-sequence': '3', 'last-event-id': '4' })).after).toBe(3)
    expect(firstOf(await all(app, '', { 'last-event-id': '4', accept: 'application/x-ndjson' })).after).toBe(4)
    for (const headers of [{ 'last-event-id': head }, { 'x-resume-from-sequence': head }]) {
      expect((await all(app, '', headers)).map(({ type }) => type)).toEqual(['open', 'caught-up', 'status'])
    }
    expect((await all(app, `&after=${head}`)).map(({ type }) => type)).toEqual(['open', 'caught-up', 'status'])
    expect((await all(app, `&after=0.${incarnation}.0`)).map(({ type }) => type)[1]).toBe('entries')
    expect((await all(app, '&after=1.another.0')).at(-1)).toMatchObject({ type: 'truncated', reason: 'incarnation' })
    const refused = await app.fetch(request('/api/sessions/s/stream?after=x'))
    expect(refused.status).toBe(400)
  })

  test('a view plus the entries after its cursor equal the log, and cursors of frames can be resumed from', async () => {
    const { app } = testApp()
    const fetch = (path: string, init: RequestInit) => app.fetch(new Request(`http://localhost:4400${path}`, init))
    await runEcho(fetch, 'hello')
    const { cursor, sequence } = (await (await app.fetch(request('/api/sessions/s'))).json()) as {
      cursor: string
      sequence: number
    }
    await runEcho(fetch, 'again')
    const rest = await all(app, `&after=${cursor}&merge=false`)
    expect(firstOf(rest).after).toBe(sequence)
    for (const frame of await all(app, '')) {
      if (!('cursor' in frame)) continue
      expect((await all(app, `&after=${frame.cursor}`)).at(-1)).toMatchObject({ type: 'status' })
    }
  })
})

import { RunError } from '@millrace/runtime'
import { describe, expect, it } from 'vitest'
import { framesIn, openTwoUserServer } from '../routing/two-user-server.fixture.ts'
import type { Authorize } from './authorize.ts'

/** The reply to a list request with this result of `authorize`. */
async function listed(answer: unknown) {
  const testServer = openTwoUserServer({ authorize: (() => answer) as Authorize })
  const { status, json, headers } = await testServer.send({ path: '/api/sessions' })
  return { status, error: (json as { error?: { code: string; message: string } }).error, headers, testServer }
}

describe('the result of authorize', () => {
  it.each([
    ['a principal', 'ann'],
    ['a promise of a principal', Promise.resolve('ann')],
    ['a principal with a label', { principal: 'ann', label: 'Ann' }],
    ['an owner', { principal: 'ann', owner: 'team' }],
  ])('%s accepts the request', async (_, answer) => {
    expect((await listed(answer)).status).toBe(200)
  })

  it.each([
    ['null', null, 401, 'unauthorized'],
    ['undefined', undefined, 401, 'unauthorized'],
    ['a refusal', { refuse: 'not today' }, 403, 'forbidden'],
    ['a refusal that asks for credentials', { refuse: 'who?', status: 401 }, 401, 'unauthorized'],
    ['a refusal with an unknown status', { refuse: 'not today', status: 200 }, 403, 'forbidden'],
    ['a refusal beside a principal', { principal: 'ann', refuse: 'not today' }, 403, 'forbidden'],
  ])('%s refuses the request', async (_, answer, status, code) => {
    const reply = await listed(answer)
    expect([reply.status, reply.error?.code]).toEqual([status, code])
    expect(reply.headers.get('www-authenticate')).toBe(status === 401 ? 'Bearer' : null)
    expect(reply.testServer.logged).toEqual([])
  })

  it.each([
    ['true', true],
    ['a number', 7],
    ['an empty name', ''],
    ['an empty object', {}],
    ['a principal that is not a string', { principal: 7 }],
    ['a label that is not a string', { principal: 'ann', label: {} }],
    ['an empty owner', { principal: 'ann', owner: '' }],
    ['an owner that is null', { principal: 'ann', owner: null }],
    ['a lone surrogate', '\ud800'],
    ['a very long name', 'a'.repeat(513)],
    ['a refusal without a reason', { refuse: undefined }],
    ['a function', () => 'ann'],
  ])('%s refuses the request with an internal error', async (_, answer) => {
    const { status, error, testServer } = await listed(answer)
    expect([status, error?.code]).toEqual([500, 'internal_error'])
    expect(testServer.logged.map(({ message }) => message)).toEqual(['a request failed'])
  })

  it.each([
    ['an error', new Error('the database of users says: secret')],
    ['an error of Millrace', new RunError('session_unknown', 'the database of users says: secret')],
    ['a string', 'secret'],
  ])('refuses the request without the message of %s that it throws', async (_, thrown) => {
    const testServer = openTwoUserServer({
      authorize: () => {
        throw thrown
      },
    })
    const { status, text } = await testServer.send({ path: '/api/sessions' })
    expect([status, text.includes('internal_error'), text.includes('secret')]).toEqual([500, true, false])
    expect(testServer.logged).toHaveLength(1)
  })
})

it('authorize gets the program before anything is done', async () => {
  const testServer = openTwoUserServer({
    authorize: ({ program }) => (program?.agent === 'large' ? { refuse: 'not that one' } : 'ann'),
  })
  const ask = (body: object) => testServer.run('s', { input: 'Hello', ...body })
  expect((await ask({ agent: 'large' })).status).toBe(403)
  expect(await testServer.storeContent()).toBe('[]')
  expect((await ask({ agent: 'echo' })).status).toBe(200)
})

describe('sessions belong to principals', () => {
  const owners: Readonly<Record<string, string>> = { sue: 'ann' }
  const authorize: Authorize = ({ request, sessionId }) => {
    const principal = request.headers.get('x-user') ?? ''
    const owner = owners[principal]
    // Sue supports Ann in one session.
    return { principal, label: `label of ${principal}`, ...(sessionId === 'shared' && owner && { owner }) }
  }

  it('lets a caller list and access its own sessions, and those that authorize grants', async () => {
    const testServer = openTwoUserServer({ authorize })
    await testServer.run('shared', { agent: 'echo', input: 'Hello' }, 'ann')
    await testServer.run('private', { agent: 'echo', input: 'Hello' }, 'ann')
    await testServer.run('bobs', { agent: 'echo', input: 'Hello' }, 'bob')
    const listedBy = async (user: string) => {
      const { json } = await testServer.send({ path: '/api/sessions', user })
      return (json as { sessions: { sessionId: string }[] }).sessions.map(({ sessionId }) => sessionId).sort()
    }
    expect([await listedBy('ann'), await listedBy('bob'), await listedBy('sue')]).toEqual([
      ['private', 'shared'],
      ['bobs'],
      [],
    ])
    const read = async (sessionId: string, user: string) =>
      (await testServer.send({ path: `/api/sessions/${sessionId}`, user })).status
    expect(await Promise.all(['shared', 'private', 'bobs'].map(id => read(id, 'sue')))).toEqual([200, 404, 404])
    // A message in the session of another owner has the label of its sender. The owner stays the same.
    await testServer.run('shared', { agent: 'echo', input: 'How can I help?', runId: 'help' }, 'sue')
    const runtime = await testServer.app.runtime()
    const info = await runtime.manager.getInfo('shared')
    expect(info?.principal).toBe('ann')
    const entries = await runtime.manager.entries('shared', 0, info?.head ?? 0)
    const requestEntry = entries.find(({ chunk }) => chunk.type === 'run-requested' && chunk.runId === 'help')
    expect(requestEntry?.origin).toMatchObject({ guest: 'label of sue' })
    // A fork belongs to the caller that created it.
    const { sessionId } = await testServer.post('/api/sessions/shared/fork', {}, { user: 'sue' })
    expect([await listedBy('sue'), await listedBy('ann')]).toEqual([[sessionId], ['private', 'shared']])
  })

  it('gives each of two callers a session when they create one with the same id at once', async () => {
    const testServer = openTwoUserServer()
    for (let round = 0; round < 20; round++) {
      const path = `/api/sessions/race-${round}/runs`
      const start = (user: string) =>
        testServer.send({
          path,
          user,
          body: { agent: 'echo', input: user },
          headers: { accept: 'application/x-ndjson' },
        })
      const [ann, bob] = await Promise.all([start('ann'), start('bob')])
      expect([ann.status, bob.status]).toEqual([200, 200])
      const { manager } = await testServer.app.runtime()
      for (const owner of ['ann', 'bob']) {
        const { streamId = '', principal, head = 0 } = (await manager.findSession(owner, `race-${round}`)) ?? {}
        expect(principal).toBe(owner)
        const entries = await manager.entries(streamId, 0, head)
        const requests = entries.filter(({ chunk }) => chunk.type === 'run-requested')
        expect(requests.map(({ origin }) => origin.guest)).toEqual([owner])
      }
    }
  })

  it('writes nothing to a session whose owner changes meanwhile', async () => {
    const holder: { swap?: () => Promise<void> } = {}
    const testServer = openTwoUserServer({ context: async () => void (await holder.swap?.()) })
    await testServer.run('s', { agent: 'echo', input: 'Hello', messageId: 'm1' })
    holder.swap = async () => {
      const { manager } = await testServer.app.runtime()
      await manager.deleteStream('s')
      await manager.createStream('s', 'bob')
    }
    const { status } = await testServer.run('s', { agent: 'echo', input: 'For ann’s eyes' })
    // The run is in a new session of ann with the same id.
    expect(status).toBe(200)
    const logOf = async (user: string) => (await testServer.send({ path: '/api/sessions/s', user })).text
    expect(await logOf('bob')).not.toContain('eyes')
    expect(await logOf('ann')).toContain('eyes')
  })

  it('authorizes each session of a connection, and a foreign one looks like one that does not exist', async () => {
    const authorize: Authorize = ({ request, sessionId, action }) => {
      testServer.authorizeRequests.push({ request, action, ...(sessionId !== undefined && { sessionId }) })
      return sessionId === 'secret' ? { refuse: 'not this one' } : request.headers.get('x-user')
    }
    const testServer = openTwoUserServer({ authorize })
    await testServer.run('a', { agent: 'echo', input: 'Hello' })
    await testServer.run('b', { agent: 'echo', input: 'Hello' }, 'bob')
    testServer.authorizeRequests.length = 0
    const path = '/api/stream?session=b&session=gone&session=a&session=secret'
    const response = await testServer.app.fetch(
      testServer.request({ path, headers: { accept: 'application/x-ndjson' } }),
    )
    expect(response.status).toBe(200)
    expect(testServer.authorizeRequests.map(({ action, sessionId }) => [action, sessionId])).toEqual([
      ['follow', undefined],
      ['follow', 'b'],
      ['follow', 'gone'],
      ['follow', 'a'],
      ['follow', 'secret'],
    ])
    // The connection ends with the last served session.
    let text = ''
    for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      const isNew = !text.includes('caught-up')
      text += piece
      if (isNew && text.includes('caught-up')) await testServer.send({ path: '/api/sessions/a', method: 'DELETE' })
    }
    const frames = framesIn({ text, status: 200, headers: new Headers(), json: undefined })
    const fails = frames.filter(({ type }) => type === 'fail')
    expect(fails.map(({ sessionId, error }) => [sessionId, (error as { code: string }).code])).toEqual([
      ['b', 'session_unknown'],
      ['gone', 'session_unknown'],
      ['secret', 'forbidden'],
      ['a', 'session_unknown'],
    ])
    expect(fails.every(({ recoverable }) => recoverable === false)).toBe(true)
    const [foreign, removedSession] = fails.map(frame => JSON.stringify(frame))
    expect(foreign?.replace('"b"', '"gone"').replace('session b', 'session gone')).toBe(removedSession)
    expect(new Set(frames.filter(({ type }) => type !== 'fail').map(({ sessionId }) => sessionId))).toEqual(
      new Set(['a']),
    )
  })

  it('refuses a caller that may read none of the sessions, and an invalid query', async () => {
    const authorize: Authorize = ({ sessionId }) => (sessionId === undefined ? 'ann' : { refuse: 'none of them' })
    const testServer = openTwoUserServer({ authorize })
    const codeOf = async (path: string) => {
      const { status, json } = await testServer.send({ path })
      return [status, (json as { error: { code: string } }).error.code]
    }
    expect(await codeOf('/api/stream?session=a&session=b')).toEqual([403, 'forbidden'])
    expect(await codeOf('/api/stream?session=a&after=1&after=2&after=3')).toEqual([400, 'request_invalid'])
  })

  it('sends a fail frame for each session if all are deleted', async () => {
    const frames = framesIn(
      await openTwoUserServer().send({
        path: '/api/stream?session=a&session=b',
        headers: { accept: 'application/x-ndjson' },
      }),
    )
    expect(frames).toEqual(
      ['a', 'b'].map(sessionId => ({
        type: 'fail',
        sessionId,
        error: expect.objectContaining({ code: 'session_unknown' }),
        recoverable: false,
      })),
    )
  })
})

describe('while a stream is open', () => {
  it('authorizes again with the same action, and sends nothing more to another principal', async () => {
    let isBob = false
    const actions: string[] = []
    const testServer = openTwoUserServer({
      stream: { heartbeatMs: 20, reauthorizeMs: 10 },
      authorize: ({ action }) => {
        actions.push(action)
        return isBob ? 'bob' : 'ann'
      },
    })
    const request = testServer.request({
      path: '/api/sessions/s/runs',
      body: { agent: 'slow', input: 'Wait' },
      headers: { accept: 'application/x-ndjson' },
    })
    const response = await testServer.app.fetch(request)
    isBob = true
    const frames = framesIn({ text: await response.text(), status: 200, headers: new Headers(), json: undefined })
    expect(frames.at(-1)).toMatchObject({ type: 'fail', error: { code: 'forbidden' }, recoverable: false })
    expect(new Set(actions)).toEqual(new Set(['run']))
    testServer.slow.go()
  })
})

// Permissions of dialect requests.

import { sessionIdOf } from '@millrace/log'
import { describe, expect, test } from 'vitest'
import { type CallOptions, codeOf, openDialectServer, requestWith, user } from '../dialect-server.fixture.ts'

const SELLER: CallOptions = { agent: 'seller' }

describe('ids of a client', () => {
  test.each(['a::b', 'a\u0000b', 'x'.repeat(300), '\ud800', '\n'])(
    'maps the invalid message id %j to another id, always the same',
    async id => {
      const at = await openDialectServer()
      const first = await at.runToEnd('s', requestWith(user('a', id)))
      expect(await at.runToEnd('s', requestWith(user('a', id)))).toBe(first)
      await at.runToEnd('s', requestWith(user('a', id), user('b', 'u2')))
      await at.runToEnd('s', requestWith(user('c', id)))
      expect(await at.userTexts('s')).toEqual(['c'])
      expect(at.count.calls).toBe(3)
      const { view } = await at.services.runtime.view('s')
      expect(view.messages[0]?.id).toMatch(/^said-[0-9a-f]{32}$/)
    },
  )

  test('treats an empty message id as none', async () => {
    const at = await openDialectServer()
    await at.runToEnd('s', requestWith(user('a', '')))
    await at.runToEnd('s', requestWith(user('a', ''), user('a', '')))
    expect(await at.userTexts('s')).toEqual(['a', 'a'])
  })

  test.each(['', '.', '..', 'stream', 'a\u0000', 'x'.repeat(257)])('refuses the session id %j', async name => {
    const at = await openDialectServer()
    expect(await codeOf(at.takeTurn(name, requestWith(user('a', 'u1'))))).toBe('request_invalid')
    expect((await at.services.manager.listStreams('ann')).streams).toEqual([])
  })
})

describe('a transcript', () => {
  test('refuses content that a client may not send, and creates no session', async () => {
    const at = await openDialectServer({ limits: { inputBytes: 100 } })
    const bad = [
      { ...requestWith(user('a', 'u1')), forbiddenContent: 'a message of a system' },
      requestWith({ id: 'u1', parts: [{ type: 'reasoning', text: 'hm' } as never] }),
      requestWith({ id: 'u1', parts: [{ type: 'text', text: 7 } as never] }),
      requestWith(user('x'.repeat(200), 'u1')),
      requestWith({ id: 'u1', parts: [{ type: 'file', mediaType: 'a/b', url: `upload:${'0'.repeat(64)}` }] }),
    ]
    for (const posted of bad) expect(await at.refused('s', posted)).not.toBe('none')
    expect((await at.services.manager.listStreams('ann')).streams).toEqual([])
    await at.runToEnd('s', requestWith(user('a', 'u1')))
    for (const { userMessages: messages, ...posted } of bad) {
      const edit = { ...posted, userMessages: messages }
      const next = {
        ...posted,
        userMessages: [user('a', 'u1'), ...messages.map(message => ({ ...message, id: 'u2' }))],
      }
      expect(await at.refused('s', next)).not.toBe('none')
      if (posted.forbiddenContent === undefined) expect(await at.refused('s', edit)).not.toBe('none')
    }
  })

  test('refuses messages of another conversation', async () => {
    const at = await openDialectServer()
    await at.runToEnd('s', requestWith(user('a', 'u1')))
    await at.runToEnd('s', requestWith(user('a', 'u1'), user('b', 'u2')))
    expect(await at.refused('s', requestWith(user('x', 'x1'), user('y', 'x2')))).toBe('transcript_diverged')
    expect(await at.refused('s', requestWith(user('x'), user('y')))).toBe('transcript_diverged')
  })
})

describe('authorize', () => {
  test('runs with the action of the route and the session before anything is read, and with the performed action', async () => {
    const at = await openDialectServer()
    const actions = async (doing: Promise<unknown>) => {
      await doing
      return at.authorizeRequests.splice(0).map(({ action, sessionId }) => `${action} ${sessionId ?? ''}`.trim())
    }
    const a = user('a', 'u1')
    expect(await actions(at.runToEnd('s', requestWith(a)))).toEqual(['run', 'run s'])
    expect(await actions(at.runToEnd('s', requestWith(user('b', 'u1'))))).toEqual(['run', 'run s', 'edit s'])
    expect(await actions(at.runToEnd('s', { ...requestWith(user('b', 'u1')), regenerate: true }))).toEqual([
      'run',
      'run s',
      'retry s',
    ])
    await at.runToEnd('t', requestWith(a), SELLER)
    at.authorizeRequests.length = 0
    const answers = [{ kind: 'approval', id: 'sell-0', approved: true }] as const
    expect(await actions(at.takeTurn('t', { userMessages: [a], endsWithUserMessage: false, answers }, SELLER))).toEqual(
      ['run', 'run t', 'answer t'],
    )
  })

  test('can refuse edits, retries and answers, and still allow new messages', async () => {
    const allowed = ['run']
    const at = await openDialectServer({
      authorize: ({ action, request }) =>
        allowed.includes(action) ? request.headers.get('x-user') : { refuse: 'not that' },
    })
    await at.runToEnd('s', requestWith(user('a', 'u1')))
    expect(await at.refused('s', requestWith(user('b', 'u1')))).toBe('forbidden')
    expect(await at.refused('s', { ...requestWith(user('a', 'u1')), regenerate: true })).toBe('forbidden')
    await at.runToEnd('t', requestWith(user('a', 'u1')), SELLER)
    const answers = [{ kind: 'approval', id: 'sell-0', approved: true }] as const
    expect(await at.refused('t', { userMessages: [], endsWithUserMessage: false, answers }, SELLER)).toBe('forbidden')
    await at.runToEnd('s', requestWith(user('a', 'u1'), user('b', 'u2')))
  })

  test('keeps the sessions of other owners apart', async () => {
    const at = await openDialectServer()
    await at.runToEnd('s', requestWith(user('a', 'u1')), SELLER)
    const answers = [{ kind: 'approval', id: 'sell-0', approved: true }] as const
    const before = JSON.stringify(await at.log('s'))
    const answersAlone = { userMessages: [], endsWithUserMessage: false, answers }
    expect(await at.refused('s', answersAlone, { user: 'bob' })).toBe('session_unknown')
    const withMessage = { ...requestWith(user('a', 'u1')), answers }
    expect(await at.refused('s', withMessage, { user: 'bob' })).toBe('transcript_refused')
    // A message starts a session of bob with the same id, and later ones continue it.
    for (const posted of [
      requestWith(user('a', 'u1')),
      { ...requestWith(user('a', 'u1')), regenerate: true },
      requestWith(user('a', 'u1'), user('b', 'u2')),
      requestWith(user('a', 'u1'), user('c', 'u2')),
    ]) {
      await at.runToEnd('s', posted, { user: 'bob' })
      expect(JSON.stringify(await at.log('s'))).toBe(before)
    }
    const { streams } = await at.services.manager.listStreams('bob')
    expect(streams.map(({ streamId }) => sessionIdOf(streamId))).toEqual(['s'])
    expect(await at.userTexts(streams[0]?.streamId ?? '')).toEqual(['a', 'c'])
  })
})

test('refuses a session that is deleted meanwhile, and can create it again', async () => {
  const at = await openDialectServer()
  await at.runToEnd('s', requestWith(user('a', 'u1')))
  await at.services.manager.deleteStream('s')
  await at.runToEnd('s', requestWith(user('a', 'u1'), user('b', 'u2')))
  expect(await at.userTexts('s')).toEqual(['b'])
})

// Permissions of dialect requests.

import { describe, expect, test } from 'vitest'
import { type Asked, codeOf, openDialectServer, said, user } from '../dialect-server.fixture.ts'

const SELLER: Asked = { agent: 'seller' }

describe('invalid message ids', () => {
  test.each(['a::b', 'a\u0000b', 'x'.repeat(300), '\ud800', '\n'])(
    '%j maps to another id, always the same',
    async id => {
      const at = await openDialectServer()
      const first = await at.done('s', said(user('a', id)))
      expect(await at.done('s', said(user('a', id)))).toBe(first)
      await at.done('s', said(user('a', id), user('b', 'u2')))
      await at.done('s', said(user('c', id)))
      expect(await at.people('s')).toEqual(['c'])
      expect(at.count.calls).toBe(3)
      const { view } = await at.services.runtime.view('s')
      expect(view.messages[0]?.id).toMatch(/^said-[0-9a-f]{32}$/)
    },
  )

  test('an empty id is no id', async () => {
    const at = await openDialectServer()
    await at.done('s', said(user('a', '')))
    await at.done('s', said(user('a', ''), user('a', '')))
    expect(await at.people('s')).toEqual(['a', 'a'])
  })

  test.each(['', '.', '..', 'stream', 'a\u0000', 'x'.repeat(257)])('refuses the session id %j', async name => {
    const at = await openDialectServer()
    expect(await codeOf(at.takeTurn(name, said(user('a', 'u1'))))).toBe('request_invalid')
    expect((await at.services.manager.listStreams('ann')).streams).toEqual([])
  })
})

describe('content that a client may not send', () => {
  test('is refused, and creates no session', async () => {
    const at = await openDialectServer({ limits: { inputBytes: 100 } })
    const bad = [
      { ...said(user('a', 'u1')), forbiddenContent: 'a message of a system' },
      said({ id: 'u1', parts: [{ type: 'reasoning', text: 'hm' } as never] }),
      said({ id: 'u1', parts: [{ type: 'text', text: 7 } as never] }),
      said(user('x'.repeat(200), 'u1')),
      said({ id: 'u1', parts: [{ type: 'file', mediaType: 'a/b', url: `upload:${'0'.repeat(64)}` }] }),
    ]
    for (const posted of bad) expect(await at.refused('s', posted)).not.toBe('none')
    expect((await at.services.manager.listStreams('ann')).streams).toEqual([])
    await at.done('s', said(user('a', 'u1')))
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

  test('from another conversation is refused', async () => {
    const at = await openDialectServer()
    await at.done('s', said(user('a', 'u1')))
    await at.done('s', said(user('a', 'u1'), user('b', 'u2')))
    expect(await at.refused('s', said(user('x', 'x1'), user('y', 'x2')))).toBe('transcript_diverged')
    expect(await at.refused('s', said(user('x'), user('y')))).toBe('transcript_diverged')
  })
})

describe('authorize', () => {
  test('runs with the action of the route and the session before anything is read, and with the performed action', async () => {
    const at = await openDialectServer()
    const actions = async (doing: Promise<unknown>) => {
      await doing
      return at.asked.splice(0).map(({ action, sessionId }) => `${action} ${sessionId ?? ''}`.trim())
    }
    const a = user('a', 'u1')
    expect(await actions(at.done('s', said(a)))).toEqual(['run', 'run s'])
    expect(await actions(at.done('s', said(user('b', 'u1'))))).toEqual(['run', 'run s', 'edit s'])
    expect(await actions(at.done('s', { ...said(user('b', 'u1')), regenerate: true }))).toEqual([
      'run',
      'run s',
      'retry s',
    ])
    await at.done('t', said(a), SELLER)
    at.asked.length = 0
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
    await at.done('s', said(user('a', 'u1')))
    expect(await at.refused('s', said(user('b', 'u1')))).toBe('forbidden')
    expect(await at.refused('s', { ...said(user('a', 'u1')), regenerate: true })).toBe('forbidden')
    await at.done('t', said(user('a', 'u1')), SELLER)
    const answers = [{ kind: 'approval', id: 'sell-0', approved: true }] as const
    expect(await at.refused('t', { userMessages: [], endsWithUserMessage: false, answers }, SELLER)).toBe('forbidden')
    await at.done('s', said(user('a', 'u1'), user('b', 'u2')))
  })

  test('hides the sessions of other owners', async () => {
    const at = await openDialectServer()
    await at.done('s', said(user('a', 'u1')), SELLER)
    const answers = [{ kind: 'approval', id: 'sell-0', approved: true }] as const
    const bad = [
      said(user('a', 'u1')),
      said(user('b', 'u2')),
      said(user('b', 'u1')),
      { ...said(user('a', 'u1')), regenerate: true },
      { userMessages: [], endsWithUserMessage: false, answers },
      { ...said(user('a', 'u1')), answers },
    ]
    for (const posted of bad) expect(await at.refused('s', posted, { user: 'bob' })).toBe('session_unknown')
    for (const posted of bad.slice(0, 2)) {
      expect(await at.refused('s', posted, { user: 'bob', runId: 'k' })).toBe('session_unknown')
    }
  })
})

test('a session that is deleted meanwhile is unknown, and can be created again', async () => {
  const at = await openDialectServer()
  await at.done('s', said(user('a', 'u1')))
  await at.services.manager.deleteStream('s')
  await at.done('s', said(user('a', 'u1'), user('b', 'u2')))
  expect(await at.people('s')).toEqual(['b'])
})

// A form whose check takes long delays no other user, and uses up only the time of the user that answers it.

import { agent, scriptedModel, useInterrupt, workflow } from '@millrace/runtime'
import { expect, test } from 'vitest'
import type { MillraceOptions } from '../app/options.ts'
import { request, testApp } from '../app/test-app.fixture.ts'

const EVIL = { type: 'object', properties: { name: { type: 'string', pattern: '^(a+)+$' } } }
const BAIT = { name: `${'a'.repeat(60)}!` }
const ATTACKS = 25

const form = workflow({
  id: 'form',
  nodes: { ask: async () => ({ data: await useInterrupt({ request: { kind: 'form', schema: EVIL } }) }) },
  edges: [
    ['start', 'ask'],
    ['ask', 'end'],
  ],
})
const echo = agent({ name: 'echo', model: scriptedModel(({ lastText }) => ({ text: `You said: ${lastText}` })) })

/** A server on which each user has a session that waits for the form. */
async function waitingServer(users: readonly string[], options: MillraceOptions = {}) {
  const authorize = ({ request: { headers } }: { readonly request: Request }) => headers.get('user')
  const { app } = testApp({ agents: [echo], workflows: [form], authorize, ...options })
  const send = (user: string, path: string, body?: unknown) => app.fetch(request(path, body, { headers: { user } }))
  const ids = new Map<string, string>()
  for (const user of users) {
    const runtime = await app.runtime()
    await (await runtime.start({ workflow: 'form', session: user, principal: user })).result()
    const { view } = await runtime.view(user)
    ids.set(user, view.pendings[0]?.id ?? '')
  }
  const answer = (user: string, response: unknown) =>
    send(user, `/api/sessions/${user}/answers`, { kind: 'interrupt', id: ids.get(user), response })
  return { app, send, answer }
}

const codeOf = async (reply: Response): Promise<string> => (await reply.json()).error?.code ?? 'accepted'

test('requests of other users complete while the checks of a user are in flight', async () => {
  const { send, answer } = await waitingServer(['eve'], { limits: { answerCheckMs: 1000 } })
  let open = ATTACKS
  const attacks = Array.from({ length: ATTACKS }, async () => {
    const reply = await answer('eve', BAIT)
    open--
    return [reply.status, await codeOf(reply), reply.headers.get('retry-after')]
  })
  // A blocked server replies to these after the attacks.
  for (let n = 0; n < 10; n++) {
    expect((await send('bob', '/api/sessions')).status).toBe(200)
  }
  expect(open).toBeGreaterThan(0)
  for (const [status, code, retryAfter] of await Promise.all(attacks)) {
    if (status === 400) expect(code).toBe('answer_invalid')
    else expect([status, code, Number(retryAfter) > 0]).toEqual([429, 'checks_limit', true])
  }
})

test('another user can answer such a form before the checks of the attacker are done', async () => {
  const { answer } = await waitingServer(['eve', 'bob'])
  // The budget is enough for all of them.
  let open = 7
  const attacks = Array.from({ length: open }, () => answer('eve', BAIT).finally(() => open--))
  // Its thread has started a check.
  await attacks[0]
  expect(await codeOf(await answer('bob', { name: 'aaa' }))).toBe('accepted')
  expect(open).toBeGreaterThan(0)
  await Promise.all(attacks)
})

test('replies 429 to a user whose time for checks is used up, and to no other user', async () => {
  const { answer } = await waitingServer(['eve', 'bob'], { limits: { answerCheckMs: 1 } })
  const first = await answer('eve', BAIT)
  expect([first.status, await codeOf(first)]).toEqual([400, 'answer_invalid'])
  const second = await answer('eve', { name: 'aaa' })
  expect([second.status, await codeOf(second)]).toEqual([429, 'checks_limit'])
  expect(Number(second.headers.get('retry-after'))).toBeGreaterThan(60)
  expect(await codeOf(await answer('bob', { name: 'aaa' }))).toBe('accepted')
})

test('replies 429 also to answers of a dialect', async () => {
  const { app, send } = await waitingServer([], { limits: { answerCheckMs: 1 } })
  const messages = [{ id: 'u1', role: 'user', content: 'go' }]
  const post = (runId: string, more: object = {}) =>
    send('eve', '/api/ag-ui/form', { threadId: 's', runId, messages, ...more })
  await (await post('r1')).text()
  const { view } = await (await app.runtime()).view('s')
  const resume = [{ interruptId: `question:${view.pendings[0]?.id}`, status: 'resolved', payload: BAIT }]
  const [first, second] = [await post('r2', { resume }), await post('r3', { resume })]
  expect([first?.status, second?.status]).toEqual([400, 429])
  expect(await second?.text()).toContain('checks_limit')
  expect(Number(second?.headers.get('retry-after'))).toBeGreaterThan(60)
})

test('a server that closes during a check replies, and leaves no thread', async () => {
  const { app, answer } = await waitingServer(['eve'])
  const attacks = Array.from({ length: 3 }, () => answer('eve', BAIT))
  await attacks[0]
  await app.close()
  const replies = await Promise.all(attacks)
  expect(await Promise.all(replies.slice(1).map(codeOf))).toEqual(['draining', 'draining'])
})

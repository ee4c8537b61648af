import { expect, it } from 'vitest'
import { openTwoUserServer, type ReadReply, type TwoUserServer } from '../routing/two-user-server.fixture.ts'

const errorOf = ({ status, json }: ReadReply) => [
  status,
  (json as { error?: { code: string } } | undefined)?.error?.code,
]
const answer = (testServer: TwoUserServer, body: object, user = 'ann') =>
  testServer.send({ path: '/api/sessions/s/answers', body, user })

const APPROVAL = { kind: 'approval', id: 'r1::call-send', approved: true }
const RESULT = { kind: 'tool-result', id: 'call-choose', output: { color: 'red' } }

/** A session that waits for an approval and a client tool. */
async function waiting() {
  const testServer = openTwoUserServer()
  await testServer.run('s', { agent: 'operator', input: 'Do it', runId: 'r1' })
  return testServer
}

it('applies an answer once, replies to a repetition with the same sequence, and continues the run', async () => {
  const testServer = await waiting()
  const first = await answer(testServer, { ...APPROVAL, input: { to: 'ann' } })
  expect([first.status, first.json]).toEqual([200, { sequence: expect.any(Number) }])
  expect((await answer(testServer, { ...APPROVAL, input: { to: 'ann' } })).json).toEqual(first.json)
  expect(errorOf(await answer(testServer, { ...APPROVAL, approved: false }))).toEqual([409, 'answer_already_settled'])
  expect((await answer(testServer, RESULT)).status).toBe(200)
  const result = await (await testServer.app.runtime()).run('s', 'r1').result()
  expect(result).toMatchObject({ status: 'completed', text: 'Done.' })
})

it('refuses an answer of the wrong kind, with another input, or without a pending', async () => {
  const testServer = await waiting()
  const before = await testServer.storeContent()
  const refused = [
    [{ ...APPROVAL, input: { to: 'bob' } }, 400, 'answer_invalid'],
    [{ ...APPROVAL, id: 'r1::nobody' }, 404, 'answer_unknown'],
    [{ ...APPROVAL, id: 'r2::call-send' }, 404, 'answer_unknown'],
    [{ ...RESULT, id: 'r1::call-send' }, 400, 'answer_wrong_kind'],
    [{ kind: 'interrupt', id: 'nobody', response: 'x' }, 404, 'answer_unknown'],
    [{ kind: 'claim', id: 'nobody' }, 404, 'answer_unknown'],
    [{ kind: 'claim', id: 'call-choose', forMs: 1e12 }, 400, 'body_invalid'],
    [{ kind: 'tool-result', id: 'call-choose', error: 'no', code: 'Not A Code' }, 400, 'body_invalid'],
    [{ kind: 'tool-result', id: 'call-choose' }, 400, 'body_invalid'],
    [{ kind: 'tool-result', id: 'call-choose', output: 1, error: 'both' }, 400, 'body_invalid'],
    [{ kind: 'tool-result', id: 'call-choose', output: 1, code: 'aborted' }, 400, 'body_invalid'],
  ] as const
  for (const [body, status, code] of refused)
    expect([body, ...errorOf(await answer(testServer, body))]).toEqual([body, status, code])
  expect(errorOf(await answer(testServer, APPROVAL, 'bob'))).toEqual([404, 'session_unknown'])
  expect(await testServer.storeContent()).toBe(before)
})

it('lets one client claim a call, refuses another one, and takes the first result', async () => {
  const testServer = await waiting()
  const claim = (client: string) => answer(testServer, { kind: 'claim', id: 'call-choose', client, forMs: 5000 })
  expect((await claim('one')).json).toEqual({ until: expect.any(Number) })
  expect((await claim('one')).status).toBe(200)
  expect(errorOf(await claim('two'))).toEqual([409, 'answer_claimed'])
  const failed = { kind: 'tool-result', id: 'call-choose', error: 'closed', code: 'aborted' }
  expect((await answer(testServer, failed)).status).toBe(200)
  expect(errorOf(await answer(testServer, RESULT))).toEqual([409, 'answer_already_settled'])
})

it('accepts null as an output', async () => {
  const testServer = await waiting()
  expect((await answer(testServer, { ...RESULT, output: null })).status).toBe(200)
})

it('answers an interrupt with a response', async () => {
  const testServer = openTwoUserServer()
  await testServer.run('s', { workflow: 'question', input: 'Knock', runId: 'r1' })
  const { ticket } = await (await testServer.app.runtime()).view('s')
  const id = ticket.pendings[0]?.id
  expect(errorOf(await answer(testServer, { kind: 'interrupt', id, response: 7 }))).toEqual([400, 'answer_invalid'])
  expect((await answer(testServer, { kind: 'interrupt', id, response: 'Ann' })).status).toBe(200)
  expect(await (await testServer.app.runtime()).run('s', 'r1').result()).toMatchObject({
    status: 'completed',
    output: 'Ann',
  })
})

import { expect, it } from 'vitest'
import { type Got, openTwoUserServer, type TwoUserServer } from '../routing/two-user-server.fixture.ts'

const errorOf = ({ status, json }: Got) => [status, (json as { error?: { code: string } } | undefined)?.error?.code]
const answer = (stage: TwoUserServer, body: object, user = 'ann') =>
  stage.send({ path: '/api/sessions/s/answers', body, user })

const APPROVAL = { kind: 'approval', id: 'r1::call-send', approved: true }
const RESULT = { kind: 'tool-result', id: 'call-choose', output: { color: 'red' } }

/** A session that waits for an approval and a client tool. */
async function waiting() {
  const stage = openTwoUserServer()
  await stage.run('s', { agent: 'operator', input: 'Do it', runId: 'r1' })
  return stage
}

it('an answer takes effect once, a repetition gets the same sequence, and the run continues', async () => {
  const stage = await waiting()
  const first = await answer(stage, { ...APPROVAL, input: { to: 'ann' } })
  expect([first.status, first.json]).toEqual([200, { sequence: expect.any(Number) }])
  expect((await answer(stage, { ...APPROVAL, input: { to: 'ann' } })).json).toEqual(first.json)
  expect(errorOf(await answer(stage, { ...APPROVAL, approved: false }))).toEqual([409, 'answer_already_settled'])
  expect((await answer(stage, RESULT)).status).toBe(200)
  const result = await (await stage.app.runtime()).run('s', 'r1').result()
  expect(result).toMatchObject({ status: 'completed', text: 'Done.' })
})

it('refuses an answer of the wrong kind, with another input, or without a pending', async () => {
  const stage = await waiting()
  const before = await stage.held()
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
    expect([body, ...errorOf(await answer(stage, body))]).toEqual([body, status, code])
  expect(errorOf(await answer(stage, APPROVAL, 'bob'))).toEqual([404, 'session_unknown'])
  expect(await stage.held()).toBe(before)
})

it('a client claims a call, another client is refused, and the first result wins', async () => {
  const stage = await waiting()
  const claim = (client: string) => answer(stage, { kind: 'claim', id: 'call-choose', client, forMs: 5000 })
  expect((await claim('one')).json).toEqual({ until: expect.any(Number) })
  expect((await claim('one')).status).toBe(200)
  expect(errorOf(await claim('two'))).toEqual([409, 'answer_claimed'])
  const failed = { kind: 'tool-result', id: 'call-choose', error: 'closed', code: 'aborted' }
  expect((await answer(stage, failed)).status).toBe(200)
  expect(errorOf(await answer(stage, RESULT))).toEqual([409, 'answer_already_settled'])
})

it('accepts null as an output', async () => {
  const stage = await waiting()
  expect((await answer(stage, { ...RESULT, output: null })).status).toBe(200)
})

it('answers an interrupt with a response', async () => {
  const stage = openTwoUserServer()
  await stage.run('s', { workflow: 'question', input: 'Knock', runId: 'r1' })
  const { ticket } = await (await stage.app.runtime()).view('s')
  const id = ticket.pendings[0]?.id
  expect(errorOf(await answer(stage, { kind: 'interrupt', id, response: 7 }))).toEqual([400, 'answer_invalid'])
  expect((await answer(stage, { kind: 'interrupt', id, response: 'Ann' })).status).toBe(200)
  expect(await (await stage.app.runtime()).run('s', 'r1').result()).toMatchObject({
    status: 'completed',
    output: 'Ann',
  })
})

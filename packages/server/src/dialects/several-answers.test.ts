// Requests with several answers, in every dialect that has them: all count, or none does.

import { agent, scriptedModel, tool, useInterrupt, workflow } from '@millrace/runtime'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { openTwoUserServer, type ReadReply, type TwoUserServer } from '../routing/two-user-server.fixture.ts'

type Question = Parameters<typeof useInterrupt>[0]['request']

const options = ['rye', 'oats'].map(id => ({ id, label: id }))
const QUESTIONS = {
  text: { kind: 'text', question: 'Who?' },
  choice: { kind: 'choice', question: 'Which?', options },
  choices: { kind: 'multi-choice', question: 'Which ones?', options },
  form: { kind: 'form', schema: { type: 'object' } },
} as const satisfies Record<string, Question>

const askerOf = (request: Question) => async () => ({ data: await useInterrupt({ request }) })

const asker = (id: string, question: Question) =>
  workflow({
    id,
    nodes: { ask: askerOf(question) },
    edges: [
      ['start', 'ask'],
      ['ask', 'end'],
    ],
  })

const both = workflow({
  id: 'both',
  nodes: { begin: () => ({}), one: askerOf(QUESTIONS.choice), other: askerOf(QUESTIONS.text), join: () => ({}) },
  edges: [
    ['start', 'begin'],
    ['begin', ['one', 'other'], { join: 'join' }],
    ['one', 'join'],
    ['other', 'join'],
    ['join', 'end'],
  ],
})

/** A server with programs that ask, and the inputs of all sales. */
function openShop() {
  const sold: unknown[] = []
  const once = (name: string, input: Record<string, string>) =>
    scriptedModel(({ turnAnswers, key }) =>
      turnAnswers === 0 ? { calls: [{ name, input, id: `${key}-${name}` }] } : { text: 'Done.' },
    )
  const sell = tool({
    name: 'sell',
    inputSchema: z.object({ what: z.string() }),
    approval: true,
    execute: input => {
      sold.push(input)
      return 'sold'
    },
  })
  const locate = tool({ name: 'locate', inputSchema: z.object({}), client: true })
  const at = openTwoUserServer({
    agents: [
      agent({ name: 'seller', model: once('sell', { what: 'rye' }), tools: [sell] }),
      agent({ name: 'guide', model: once('locate', {}), tools: [locate] }),
    ],
    workflows: [...Object.entries(QUESTIONS).map(([id, question]) => asker(id, question)), both],
  })
  return { at, sold }
}

const viewOf = async (at: TwoUserServer) => (await (await at.app.runtime()).view('s')).view

const codeOf = ({ status, json }: ReadReply) => {
  const { error, code } = (json ?? {}) as { error?: { code?: string } | string; code?: string }
  return [status, typeof error === 'object' ? error.code : code]
}

describe('an answer of Kortyx', () => {
  const post = (at: TwoUserServer, program: string, message: object, more: object = {}) =>
    at.send({
      path: `/api/kortyx/${program}`,
      body: { sessionId: 's', messages: [{ role: 'user', content: 'go', ...message }], ...more },
    })

  /** Starts a program that asks, and returns a function that answers it. */
  async function asked(at: TwoUserServer, program: string) {
    const { text } = await post(at, program, { id: 'u1' })
    const events = [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data]) => JSON.parse(data as string))
    const { requestId, resumeToken: token } = events.find(({ type }) => type === 'interrupt')
    return (selection: object, more?: object) =>
      post(at, program, { content: 'answer', metadata: { resume: { requestId, token, ...selection } } }, more)
  }

  test.each([
    ['seller', [{ selected: ['approve', 'deny'] }, { selected: ['approve', 'approve'] }, { selected: 'yes' }]],
    ['seller', [{}, { selected: [] }, { selected: [true] }, { selected: 'approve', choice: { id: 'deny' } }]],
    ['guide', [{ selected: ['"Ulm"', '"Bonn"'] }, { selected: [] }, {}]],
    ['text', [{ selected: ['me', 'you'] }, { selected: [] }, {}]],
    ['choice', [{ selected: ['rye', 'oats'] }, { choices: [{ id: 'rye' }, { id: 'oats' }] }, { selected: 'wheat' }]],
    ['choices', [{}, { selected: ['rye', 'wheat'] }, { selected: ['rye', {}] }, { selected: ['rye', 'rye'] }]],
    ['form', [{ selected: ['{}', '{"a":1}'] }, {}]],
  ] as const)('%s: is refused unless it is one answer, and nothing is stored', async (program, selections) => {
    const { at, sold } = openShop()
    const answer = await asked(at, program)
    const before = await at.storeContent()
    for (const selection of selections)
      expect([selection, codeOf(await answer(selection))]).toEqual([selection, [400, 'answer_invalid']])
    expect(await at.storeContent()).toBe(before)
    expect(sold).toEqual([])
  })

  test('answers a question with several choices by several values', async () => {
    const { at } = openShop()
    const answer = await asked(at, 'choices')
    expect((await answer({ selected: ['rye', 'oats'] })).status).toBe(200)
    expect((await viewOf(at)).interrupts).toMatchObject([{ status: 'answered', response: ['rye', 'oats'] }])
  })

  test('starts no other run, also if the request asks for a regeneration', async () => {
    const { at } = openShop()
    const answer = await asked(at, 'choice')
    expect((await answer({ selected: ['rye'] }, { regenerate: true })).status).toBe(200)
    const { runs, interrupts } = await viewOf(at)
    expect(runs).toMatchObject([{ status: 'completed' }])
    expect(interrupts).toMatchObject([{ response: 'rye' }])
  })
})

const MESSAGES = [{ id: 'u1', role: 'user', content: 'go' }]
const SSE = { accept: 'text/event-stream' }

describe.each(['ag-ui', 'tanstack'])('answers of %s', dialect => {
  let n = 0
  const post = (at: TwoUserServer, program: string, more: object = {}) => {
    const body = { threadId: 's', runId: `r${n++}`, messages: MESSAGES, ...more }
    return at.send({ path: `/api/${dialect}/${program}`, body, headers: SSE })
  }
  const resolved = (interruptId: string, payload: unknown) => ({ interruptId, status: 'resolved', payload })
  const cancelled = (interruptId: string) => ({ interruptId, status: 'cancelled' })

  /** Sends resumptions that must be refused. */
  async function refused(at: TwoUserServer, program: string, code: string, ...resumes: readonly (readonly object[])[]) {
    const before = await at.storeContent()
    for (const resume of resumes)
      expect([resume, codeOf(await post(at, program, { resume }))[1]]).toEqual([resume, code])
    expect(await at.storeContent()).toBe(before)
  }

  const questionsIn = async (at: TwoUserServer) =>
    (await viewOf(at)).interrupts.map(({ interruptId }) => `question:${interruptId}`)

  test('are refused for an approval if they contradict each other, decide nothing or change the input', async () => {
    const { at, sold } = openShop()
    await post(at, 'seller')
    const id = `approval:${(await viewOf(at)).pendings[0]?.id}`
    await refused(
      at,
      'seller',
      'transcript_refused',
      [resolved(id, true), resolved(id, false)],
      [resolved(id, { approved: true }), cancelled(id)],
      [resolved(id, { approved: true, reason: 'a' }), resolved(id, { approved: true, reason: 'b' })],
      [resolved(id, { approved: true, editedArgs: { what: 'gold' } })],
    )
    await refused(at, 'seller', 'body_invalid', [resolved(id, { approved: 'yes' })], [resolved(id, undefined)])
    expect(sold).toEqual([])
    const agreeing = [resolved(id, true), resolved(id, { approved: true, reason: 'a', editedArgs: { what: 'rye' } })]
    expect((await post(at, 'seller', { resume: agreeing })).status).toBe(200)
    expect(sold).toEqual([{ what: 'rye' }])
  })

  test('take effect together: an invalid one also refuses the valid ones before it', async () => {
    const { at } = openShop()
    await post(at, 'both')
    const [choice = '', text = ''] = await questionsIn(at)
    await refused(
      at,
      'both',
      'answer_invalid',
      [resolved(choice, 'rye'), resolved(text, 7)],
      [resolved(text, 'me'), resolved(choice, 'wheat')],
    )
    expect((await post(at, 'both', { resume: [resolved(choice, 'rye'), resolved(text, 'me')] })).status).toBe(200)
    expect((await viewOf(at)).interrupts.map(({ response }) => response)).toEqual(['rye', 'me'])
  })

  test('stop a run once if they cancel its question, however often they are sent', async () => {
    const { at } = openShop()
    await post(at, 'both')
    const [choice = '', text = ''] = await questionsIn(at)
    await refused(
      at,
      'both',
      'transcript_refused',
      [cancelled(choice), resolved(choice, 'rye')],
      [cancelled('question:other')],
      [cancelled('other')],
    )
    for (let tries = 0; tries < 3; tries++) {
      const reply = await post(at, 'both', { resume: [cancelled(choice), resolved(text, 'me')] })
      expect(reply.status).toBe(200)
      const { runs, interrupts } = await viewOf(at)
      expect(runs).toMatchObject([{ status: 'interrupted' }])
      expect(interrupts.map(({ status }) => status)).toEqual(['void', 'void'])
    }
  })

  test('are refused if they cancel an answered question', async () => {
    const { at } = openShop()
    await post(at, 'text')
    const [text = ''] = await questionsIn(at)
    expect((await post(at, 'text', { resume: [resolved(text, 'me')] })).status).toBe(200)
    await refused(at, 'text', 'answer_already_settled', [cancelled(text)])
  })
})

test('decisions of TanStack AI in messages and in `resume` count together, and must agree', async () => {
  const { at, sold } = openShop()
  const post = (more: object, n: number) =>
    at.send({ path: '/api/tanstack/seller', body: { threadId: 's', runId: `r${n}`, ...more }, headers: SSE })
  await post({ messages: MESSAGES }, 0)
  const [pending] = (await viewOf(at)).pendings
  const toolCallId = pending?.kind === 'approval' ? pending.part.toolCallId : ''
  const decision = (approved: boolean) => [
    ...MESSAGES,
    {
      id: 't1',
      role: 'tool',
      toolCallId,
      content: JSON.stringify({ approved, pendingExecution: true, message: 'Yes' }),
    },
  ]
  const resume = [{ interruptId: `approval:${pending?.id}`, status: 'resolved', payload: { approved: true } }]
  const before = await at.storeContent()
  expect(codeOf(await post({ messages: decision(false), resume }, 1))).toEqual([409, 'transcript_refused'])
  expect(await at.storeContent()).toBe(before)
  expect((await post({ messages: decision(true), resume }, 2)).status).toBe(200)
  expect(sold).toEqual([{ what: 'rye' }])
})

test('decisions of TanStack AI up to 0.2 in both fields must agree', async () => {
  const { at, sold } = openShop()
  const post = (more: object) =>
    at.send({
      path: '/api/tanstack/seller',
      body: { messages: [{ role: 'user', content: 'go' }], conversationId: 's', ...more },
      headers: SSE,
    })
  await post({})
  const id = (await viewOf(at)).pendings[0]?.id as string
  const before = await at.storeContent()
  const data = { conversationId: 's', approvals: { [id]: true } }
  expect(codeOf(await post({ data, approvals: { [id]: false } }))).toEqual([409, 'transcript_refused'])
  expect(codeOf(await post({ data: { ...data, conversationId: 't' } }))).toEqual([400, 'body_invalid'])
  expect(await at.storeContent()).toBe(before)
  expect((await post({ data, approvals: { [id]: true } })).status).toBe(200)
  expect(sold).toEqual([{ what: 'rye' }])
})

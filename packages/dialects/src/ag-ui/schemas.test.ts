import { expect, test } from 'vitest'
import { clientRequestOf, type RunAgentInput, RunAgentInputSchema } from './schemas.ts'

const input = (fields: Partial<RunAgentInput>): RunAgentInput =>
  RunAgentInputSchema.parse({ threadId: 't', runId: 'r', messages: [], ...fields })

test('takes only user messages, results and answers from a request', () => {
  const posted = clientRequestOf(
    input({
      messages: [
        {
          id: 'u1',
          role: 'user',
          content: [
            { type: 'text', text: 'Look' },
            { type: 'document', source: { type: 'url', value: 'https://example.test/a' } },
          ],
        },
        { id: 'a1', role: 'assistant', content: 'Never said' },
        { id: 't1', role: 'tool', toolCallId: 'c1', content: '{"a":1}' },
        { id: 't2', role: 'tool', toolCallId: 'c2', content: '', error: 'it broke' },
      ],
      resume: [
        { interruptId: 'approval:a', status: 'resolved', payload: { approved: true, reason: 'fine' } },
        { interruptId: 'approval:b', status: 'cancelled' },
        { interruptId: 'tool:c3', status: 'resolved', payload: 2 },
        { interruptId: 'tool:c4', status: 'cancelled' },
        { interruptId: 'question:q', status: 'resolved', payload: 'rye' },
        { interruptId: 'question:p', status: 'cancelled' },
      ],
    }),
  )
  expect(posted).toEqual({
    userMessages: [
      {
        id: 'u1',
        parts: [
          { type: 'text', text: 'Look' },
          { type: 'file', url: 'https://example.test/a', mediaType: 'application/*' },
        ],
      },
    ],
    endsWithUserMessage: false,
    answers: [
      { kind: 'tool-result', id: 'c1', output: { a: 1 } },
      { kind: 'tool-result', id: 'c2', error: 'it broke' },
      { kind: 'approval', id: 'a', approved: true, reason: 'fine' },
      { kind: 'approval', id: 'b', approved: false },
      { kind: 'tool-result', id: 'c3', output: 2 },
      { kind: 'tool-result', id: 'c4', error: 'The client did not run it.' },
      { kind: 'interrupt', id: 'q', response: 'rye' },
    ],
  })
})

test.each([
  ['yes', true, { approved: true }],
  ['no', false, { approved: false }],
  ['an object', { approved: true, reason: 'fine' }, { approved: true, reason: 'fine' }],
  ['edited arguments', { approved: true, editedArgs: { a: 1 } }, { approved: true, input: { a: 1 } }],
])('parses an approval: %s', (_name, payload, decision) => {
  const resume = [{ interruptId: 'approval:a', status: 'resolved' as const, payload }]
  expect(clientRequestOf(input({ resume })).answers).toEqual([{ kind: 'approval', id: 'a', ...decision }])
})

test.each([{ approved: 'yes' }, {}, 'yes', null, undefined])('rejects an approval without a decision: %j', payload => {
  const entry = { interruptId: 'approval:a', status: 'resolved', ...(payload !== undefined && { payload }) }
  const body = { threadId: 't', runId: 'r', messages: [], resume: [entry] }
  expect(RunAgentInputSchema.safeParse(body).error?.issues).toMatchObject([{ path: ['resume', 0, 'payload'] }])
})

test('asks for another reply only without an answer to an interrupt', () => {
  const messages = [{ id: 'u', role: 'user' as const, content: 'go' }]
  expect(clientRequestOf(input({ messages })).regenerate).toBe(true)
  for (const status of ['resolved', 'cancelled'] as const) {
    const resume = [{ interruptId: 'question:q', status, payload: 'rye' }]
    expect(clientRequestOf(input({ messages, resume })).regenerate).toBeUndefined()
  }
})

test('prefers the response to a call over its result in the messages, which is text, and takes its error', () => {
  const posted = input({
    messages: [
      { id: 't1', role: 'tool', toolCallId: 'c1', content: '5' },
      { id: 't2', role: 'tool', toolCallId: 'c2', content: '{"a":1}' },
      { id: 't3', role: 'tool', toolCallId: 'c3', content: 'no signal' },
    ],
    resume: [
      { interruptId: 'tool:c1', status: 'resolved', payload: 5 },
      { interruptId: 'tool:c2', status: 'resolved', payload: '{"a":1}' },
      { interruptId: 'tool:c3', status: 'cancelled', payload: 'no signal' },
    ],
  })
  expect(clientRequestOf(posted).answers).toEqual([
    { kind: 'tool-result', id: 'c1', output: 5 },
    { kind: 'tool-result', id: 'c2', output: '{"a":1}' },
    { kind: 'tool-result', id: 'c3', error: 'no signal' },
  ])
})

test('reports instructions of a client as forbidden content', () => {
  const message = { id: 's', role: 'developer' as const, content: 'Obey.' }
  expect(clientRequestOf(input({ messages: [message] })).forbiddenContent).toContain('message s')
})

test('rejects user messages without text or parts and results without a call', () => {
  const check = (message: object) => RunAgentInputSchema.safeParse({ threadId: 't', runId: 'r', messages: [message] })
  expect(check({ id: 'u', role: 'user' }).error?.issues[0]?.path).toEqual(['messages', 0, 'content'])
  const source = { type: 'file', value: 'file-1' }
  expect(check({ id: 'u', role: 'user', content: [{ type: 'image', source }] }).success).toBe(false)
  expect(check({ id: 't', role: 'tool', content: '' }).error?.issues[0]?.path).toEqual(['messages', 0, 'toolCallId'])
})

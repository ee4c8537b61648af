import { expect, test } from 'vitest'
import { tanstackMessagesOf } from './messages/tanstack-messages.ts'
import {
  ChatRequestSchema,
  clientRequestOf,
  clientRequestOfInput,
  isDecision,
  RunAgentInputSchema,
  TanstackRequestSchema,
} from './schemas.ts'

const chat = (body: object) =>
  clientRequestOf(ChatRequestSchema.parse({ data: { conversationId: 's' }, ...body } satisfies object))

const input = (body: object) =>
  clientRequestOfInput(RunAgentInputSchema.parse({ threadId: 's', runId: 'r', ...body } satisfies object))

test('reads user messages with their attachments', () => {
  const { userMessages, endsWithUserMessage, regenerate } = chat({
    messages: [
      { role: 'user', content: 'one' },
      { role: 'assistant', content: null, toolCalls: [] },
      {
        role: 'user',
        content: [
          { type: 'text', content: 'look' },
          { type: 'image', source: { type: 'data', value: 'AAAA' } },
          { type: 'document', source: { type: 'url', value: 'https://example.test/a.pdf' } },
        ],
      },
    ],
  })
  expect(userMessages).toEqual([
    { parts: [{ type: 'text', text: 'one' }] },
    {
      parts: [
        { type: 'text', text: 'look' },
        { type: 'file', url: 'data:image/*;base64,AAAA', mediaType: 'image/*' },
        { type: 'file', url: 'https://example.test/a.pdf', mediaType: 'application/octet-stream' },
      ],
    },
  ])
  expect([endsWithUserMessage, regenerate]).toEqual([true, true])
})

test('reads results and decisions from the messages and the body', () => {
  const { answers, endsWithUserMessage, regenerate } = chat({
    messages: [
      { role: 'user', content: 'go' },
      { role: 'tool', toolCallId: 'c', content: '{"city":"Ulm"}' },
    ],
    data: { conversationId: 's', approvals: { a: true }, answers: [{ kind: 'interrupt', id: 'q', response: 1 }] },
    approvals: { b: false },
  })
  expect(answers).toEqual([
    { kind: 'tool-result', id: 'c', output: { city: 'Ulm' } },
    { kind: 'approval', id: 'a', approved: true },
    { kind: 'approval', id: 'b', approved: false },
    { kind: 'interrupt', id: 'q', response: 1 },
  ])
  expect([endsWithUserMessage, regenerate]).toEqual([false, undefined])
})

test('prefers a result beside the messages, in which it is text', () => {
  const result = { kind: 'tool-result', id: 'c' } as const
  const posted = (answer: object) =>
    chat({ messages: [{ role: 'tool', toolCallId: 'c', content: '[1]' }], answers: [{ ...result, ...answer }] }).answers
  expect(posted({ output: '[1]' })).toEqual([{ ...result, output: '[1]' }])
  expect(posted({ error: 'no signal' })).toEqual([{ ...result, error: 'no signal' }])
  for (const invalid of [{}, { output: 1, error: 'both' }])
    expect(() => posted(invalid)).toThrow('expected either output or error')
})

test('accepts the approval id that the history contains', () => {
  const part = { type: 'tool', toolCallId: 'c', toolName: 't', state: 'approval-requested', approval: { id: 'a' } }
  const messages = tanstackMessagesOf({ messages: [{ id: 'm', role: 'assistant', parts: [part] }] } as never)
  const [{ approval }] = messages.flatMap(({ parts }) => parts) as never as [{ approval: { id: string } }]
  expect(chat({ messages: [{ role: 'user', content: 'go' }], approvals: { [approval.id]: true } }).answers).toEqual([
    { kind: 'approval', id: 'a', approved: true },
  ])
})

test('keeps decisions that differ, for the server to refuse', () => {
  const messages = [{ role: 'user', content: 'go' }]
  const { answers } = chat({
    messages,
    data: { conversationId: 's', approvals: { a: true } },
    approvals: { 'approval:a': false },
  })
  expect(answers).toEqual([
    { kind: 'approval', id: 'a', approved: true },
    { kind: 'approval', id: 'a', approved: false },
  ])
})

test.each([
  ['a result without its call', { messages: [{ role: 'tool', content: '1' }] }, ['messages', 0, 'toolCallId']],
  [
    'a result without text',
    { messages: [{ role: 'tool', toolCallId: 'c', content: null }] },
    ['messages', 0, 'content'],
  ],
  [
    'an unknown part of a user message',
    { messages: [{ role: 'user', content: [{ type: 'text', content: 'a' }, { type: 'video' }] }] },
    ['messages', 0, 'content', 1],
  ],
  [
    'two ids of the conversation',
    { messages: [{ role: 'user', content: 'a' }], data: { conversationId: 's' }, conversationId: 't' },
    ['conversationId'],
  ],
])('rejects %s', (_, body, path) => {
  expect(ChatRequestSchema.safeParse(body).error?.issues).toMatchObject([{ path }])
})

test('a request with the ids of AG-UI follows its rules only', () => {
  const ids = { threadId: 's', runId: 'r' }
  const messages = [{ id: 't', role: 'tool', content: '1' }]
  expect(TanstackRequestSchema.safeParse({ ...ids, messages }).success).toBe(false)
  expect(TanstackRequestSchema.safeParse({ ...ids, messages: [{ ...messages[0], toolCallId: 'c' }] }).success).toBe(
    true,
  )
})

test('reads decisions in tool messages, also beside `resume`', () => {
  const decision = '{"approved":true,"pendingExecution":true,"message":"User approved this action"}'
  const messages = [
    { id: 'u', role: 'user', content: 'go' },
    { id: 't', role: 'tool', toolCallId: 'c', content: decision },
    { id: 'x', role: 'tool', toolCallId: 'd', content: '{"approved":true}' },
  ]
  expect(input({ messages })).toMatchObject({
    endsWithUserMessage: false,
    answers: [
      { kind: 'tool-result', id: 'd', output: { approved: true } },
      { kind: 'approval', id: 'c', approved: true },
    ],
  })
  const resume = [{ interruptId: 'approval:a', status: 'resolved', payload: { approved: false } }]
  expect(input({ messages: messages.slice(0, 2), resume }).answers).toEqual([
    { kind: 'approval', id: 'a', approved: false },
    { kind: 'approval', id: 'c', approved: true },
  ])
  expect(isDecision({ id: 'u', role: 'user', content: decision })).toBe(false)
})

test('does not regenerate if the request answers an interrupt', () => {
  const messages = [{ id: 'u', role: 'user', content: 'go' }]
  const resume = [{ interruptId: 'question:q', status: 'resolved', payload: 'rye' }]
  expect(input({ messages }).regenerate).toBe(true)
  const { regenerate, answers } = input({ messages, resume })
  expect([regenerate, answers]).toEqual([undefined, [{ kind: 'interrupt', id: 'q', response: 'rye' }]])
})

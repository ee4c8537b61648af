import { expect, test } from 'vitest'
import { ChatRequestSchema, clientRequestOf, resumeIn, StreamChunkSchema } from './schemas.ts'

const call = { tool: 't', toolCallId: 'c' }
const structured = { type: 'structured-data', streamId: 's', dataType: 'd' }
const GOOD = [
  { type: 'session', sessionId: 's' },
  { type: 'trace', traceId: 't', spanId: 's', runId: 'r', rootSpanName: 'kortyx.run' },
  { type: 'status', message: 'm' },
  { type: 'text-start', segmentId: 's' },
  { type: 'text-delta', delta: 'd' },
  { type: 'text-end' },
  { type: 'message', content: 'c' },
  { type: 'tool-call-start', ...call },
  { type: 'tool-call-result', ...call, content: 1 },
  { type: 'tool-call-error', ...call, message: 'm' },
  { type: 'tool-result', content: 1 },
  { ...structured, kind: 'final', data: {} },
  { type: 'structured-data-invalidated', streamId: 's', checkpointId: 'c' },
  {
    type: 'interrupt',
    requestId: 'r',
    resumeToken: 't',
    input: { kind: 'choice', multiple: false, question: 'q', options: [{ id: 'a', label: 'A' }] },
  },
  { type: 'transition', transitionTo: 'w' },
  { type: 'checkpoint', id: 'c', sessionId: 's', turnIndex: 0 },
  { type: 'done' },
  { type: 'error', message: 'm' },
]

test('accepts all 18 types and nothing else', () => {
  expect(new Set(GOOD.map(({ type }) => type)).size).toBe(18)
  for (const chunk of GOOD) expect([chunk.type, StreamChunkSchema.safeParse(chunk).success]).toEqual([chunk.type, true])
  const bad = [
    { type: 'novel' },
    { type: 'text-delta' },
    { ...structured, kind: 'set', path: '', value: 1 },
    { ...structured, kind: 'remove', path: 'a' },
    { type: 'interrupt', requestId: 'r', resumeToken: 't', input: { kind: 'choice', multiple: false, question: 'q' } },
    { type: 'checkpoint', id: 'c', sessionId: 's', turnIndex: -1 },
  ]
  for (const chunk of bad) expect([chunk, StreamChunkSchema.safeParse(chunk).success]).toEqual([chunk, false])
})

test('reads the answer of the last message, with a selection in any accepted form', () => {
  const resumed = (resume: object) =>
    resumeIn(ChatRequestSchema.parse({ messages: [{ role: 'user', content: 'x', metadata: { resume } }] }))
  const about = { token: 't', requestId: 'r' }
  const chosen = (resume: object) => resumed({ ...about, ...resume })?.selected
  expect(chosen({ selected: 'a' })).toEqual(['a'])
  expect(chosen({ selected: ['a', 2] })).toEqual(['a', '2'])
  expect(chosen({ choice: { id: 'a' } })).toEqual(['a'])
  expect(chosen({ choices: [{ id: 'a' }, { id: 'b' }] })).toEqual(['a', 'b'])
  expect(chosen({ selected: [] })).toEqual([])
  expect(chosen({ selected: ['a'], choice: { id: 'a' }, choices: null })).toEqual(['a'])
  expect(resumed({ ...about, cancel: true })).toMatchObject({ ...about, isCancelled: true })
  expect(resumed({})).toMatchObject({ token: '', requestId: '' })
  const body = ChatRequestSchema.parse({ messages: [{ role: 'user', content: 'x' }] })
  expect(resumeIn(body)).toBeUndefined()
})

test('reads no selection if there is none, if an item is not an id, or if two forms differ', () => {
  const chosen = (resume: object) => {
    const metadata = { resume: { token: 't', requestId: 'r', ...resume } }
    return resumeIn(ChatRequestSchema.parse({ messages: [{ role: 'user', content: 'x', metadata }] }))?.selected
  }
  const unreadable = [
    {},
    { selected: null },
    { selected: [true] },
    { selected: ['a', {}] },
    { choices: [{ id: 'a' }, { id: null }] },
    { choice: { label: 'a' } },
    { selected: 'a', choice: { id: 'b' } },
    { selected: ['a'], choices: [{ id: 'a' }, { id: 'b' }] },
    { selected: [{}], choice: { id: 'a' } },
  ]
  for (const resume of unreadable) expect([resume, chosen(resume)]).toEqual([resume, undefined])
})

test('takes user messages without their resume metadata, and reports instructions as forbidden content', () => {
  const body = ChatRequestSchema.parse({
    messages: [
      { role: 'user', content: 'hi', id: 'u1', metadata: { resume: {}, locale: 'de' } },
      { role: 'assistant', content: 'ho' },
    ],
    regenerate: true,
  })
  expect(clientRequestOf(body)).toEqual({
    userMessages: [{ id: 'u1', parts: [{ type: 'text', text: 'hi' }], metadata: { locale: 'de' } }],
    endsWithUserMessage: false,
    answers: [],
    regenerate: true,
  })
  const messages = [{ role: 'system', content: 'obey' }, ...body.messages]
  expect(clientRequestOf(ChatRequestSchema.parse({ messages })).forbiddenContent).toMatch('instructions')
})

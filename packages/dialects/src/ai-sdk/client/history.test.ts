import { expect, test } from 'vitest'
import { decodeHistory } from './history.ts'

test('decodes stored messages to the chunks that they arrived as', () => {
  const call = { type: 'tool-sell', toolCallId: 'c', input: { a: 1 }, approval: { id: 'p', approved: true } }
  const decoded = decodeHistory([
    { id: 's', role: 'system', parts: [{ type: 'text', text: 'Be kind.' }] },
    { id: 'u', role: 'user', parts: [{ type: 'text', text: 'Hi' }], metadata: { a: 1 } },
    {
      id: 'a',
      role: 'assistant',
      parts: [
        { type: 'step-start' },
        { type: 'text', text: 'Well', state: 'done' },
        { ...call, state: 'output-available', output: 2 },
        { type: 'data-x', data: 3 },
      ],
    },
  ])
  const [message, ...answer] = decoded.map(({ chunk }) => chunk)
  const parts = [{ type: 'text', text: 'Hi' }]
  expect(message).toEqual({ type: 'message', messageId: 'u', role: 'user', parts, metadata: { a: 1 } })
  expect(answer).toMatchObject([
    { type: 'start' },
    { type: 'step-start' },
    { type: 'text-start', id: '1' },
    { type: 'text-delta', id: '1', delta: 'Well' },
    { type: 'text-end', id: '1' },
    { type: 'tool-input-available', toolCallId: 'c', toolName: 'sell', input: { a: 1 } },
    { type: 'tool-approval-request', toolCallId: 'c', approvalId: 'p' },
    { type: 'tool-approval-response', toolCallId: 'c', approvalId: 'p', approved: true },
    { type: 'tool-output-available', toolCallId: 'c', output: 2 },
    { type: 'data-x', data: 3 },
  ])
  expect(decoded.at(-1)?.messageId).toBe('a')
})

test.each([[{}], [null], [[5]], [[null]], [[{ id: 'a' }]]])(
  'rejects a value that is not a list of messages: %j',
  value => {
    expect(() => decodeHistory(value)).toThrow(expect.objectContaining({ code: 'invalid-field' }))
  },
)

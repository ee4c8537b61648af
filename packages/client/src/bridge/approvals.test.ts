import { describe, expect, test, vi } from 'vitest'
import { chatOf, chatOver, controlled, counting, hello, ids, streamOf } from './chat.fixture.ts'

describe('approvals', () => {
  const request = (more: object = {}) => [
    { type: 'start', messageId: 'a1' },
    { type: 'text-delta', id: 't', delta: 'May I?' },
    { type: 'tool-approval-request', toolCallId: 'c', toolName: 'rm', input: { path: 'x' }, ...more },
  ]

  test.each([
    ['the id of the call', {}, 'c', true],
    ['the id of the request', { approvalId: 'p' }, 'p', true],
    ['the id of the call, although the request has its own', { approvalId: 'p' }, 'c', true],
    ['the id of the call, as a denial', {}, 'c', false],
  ])('sends an answer on an open stream by %s', async (_, more, id, approved) => {
    const { stream, push } = controlled()
    const addToolApprovalResponse = vi.fn(async () => {})
    const { chat, until, messages, calls, finished } = chatOver({
      sendMessage: async () => stream,
      addToolApprovalResponse,
    })
    await chat.sendMessage('hi')
    push(...request(more))
    await until(() => chat.state.status === 'paused')
    expect(chat.store.pendings).toMatchObject([{ kind: 'approval', messageId: 'a1' }])
    await chat.answer({ kind: 'approval', id, approved, reason: 'because' })
    expect(addToolApprovalResponse).toHaveBeenCalledExactlyOnceWith({ id, approved, reason: 'because' })
    expect(chat.state.status).toBe('streaming')
    expect(messages()[1]?.parts[1]).toMatchObject({
      toolInvocation: { state: 'approval-responded', approval: { approved, reason: 'because' } },
    })
    const end = finished()
    const outcome = approved
      ? { type: 'tool-output-available', toolCallId: 'c', output: 'done' }
      : { type: 'tool-output-denied', toolCallId: 'c', reason: 'because' }
    push(outcome, { type: 'finish', messageId: 'a1' })
    await end
    const state = approved ? 'output-available' : 'output-denied'
    expect(messages()[1]?.parts[1]).toMatchObject({ toolInvocation: { state } })
    expect(calls.tools).toEqual(['approval-requested', 'approval-responded', state])
  })

  test('undoes only the answer if the adapter refuses it, and keeps the content streamed meanwhile', async () => {
    const { stream, push } = controlled()
    const { promise, reject } = Promise.withResolvers<void>()
    const { chat, until, messages, textOf, log, finished } = chatOver({
      sendMessage: async () => stream,
      addToolApprovalResponse: () => promise,
    })
    await chat.sendMessage('hi')
    push(...request())
    await until(() => chat.state.status === 'paused')
    const answered = chat.answer({ kind: 'approval', id: 'c', approved: true })
    push({ type: 'text-delta', id: 't', delta: ' Please.' }, { type: 'data-note', data: 1 })
    await until(() => (chat.store.messages[1]?.parts.length ?? 0) === 3)
    reject(new Error('down'))
    await expect(answered).rejects.toThrow('down')
    expect(log.at(-1)).toBe('error SEND_ERROR')
    expect(chat.state).toMatchObject({ status: 'paused', error: { source: 'adapter' } })
    expect(messages()[1]?.parts).toMatchObject([
      { text: 'May I? Please.', state: 'streaming' },
      { toolInvocation: { state: 'approval-requested' } },
      { type: 'data-note' },
    ])
    push({ type: 'text-delta', id: 't', delta: ' Thanks.' })
    await until(() => JSON.stringify(chat.store.message('a1')).includes('Thanks.'))
    const end = finished()
    push({ type: 'finish', messageId: 'a1' })
    await end
    expect(textOf('a1')).toEqual(['May I? Please. Thanks.'])
  })

  test('keeps a request for approval open after the reply, and takes the outcome from a later stream', async () => {
    let count = 0
    const { chat, turn, messages } = chatOver({
      sendMessage: async () =>
        ++count === 1
          ? streamOf([...request(), { type: 'finish', messageId: 'a1' }])
          : streamOf([
              { type: 'start', messageId: 'a1' },
              { type: 'tool-output-available', toolCallId: 'c', output: 'done' },
              { type: 'text-delta', id: 't', delta: 'Done.' },
              { type: 'finish', messageId: 'a1' },
            ]),
      addToolApprovalResponse: async () => {},
    })
    await turn()
    chat.store.flush()
    expect(chat.store.pendings).toHaveLength(1)
    await chat.answer({ kind: 'approval', id: 'c', approved: true })
    await turn('go on', 'u2')
    expect(ids(messages())).toBe('u1 a1 u2')
    expect(messages()[1]?.parts).toMatchObject([
      { text: 'May I?' },
      { toolInvocation: { state: 'output-available', output: 'done' } },
      { text: 'Done.' },
    ])
  })

  test('rejects an answer without a request, or of a kind that the adapter does not support', async () => {
    const { chat, turn, calls } = chatOf(hello)
    await turn()
    await expect(chat.answer({ kind: 'approval', id: 'c', approved: true })).rejects.toMatchObject({
      code: 'unsupported',
    })
    expect(chat.state.error).toMatchObject({
      message: expect.stringContaining('addToolApprovalResponse'),
      details: { id: 'c', cause: 'unsupported' },
    })
    expect(calls.errors).toEqual([chat.state.error])
    const other = counting({ addToolApprovalResponse: async () => {} })
    await expect(other.chat.answer({ kind: 'approval', id: 'c', approved: true })).rejects.toMatchObject({
      code: 'unknown',
    })
    await expect(other.chat.answer({ kind: 'interrupt', id: 'c', response: 1 })).rejects.toMatchObject({
      code: 'unsupported',
    })
  })
})

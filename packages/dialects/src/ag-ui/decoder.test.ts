import type { Chunk } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import { AgUiDecoder } from './decoder.ts'
import type { AgUiEvent } from './types.ts'

const STARTED: AgUiEvent = { type: 'RUN_STARTED', threadId: 't', runId: 'r' }
const FINISHED: AgUiEvent = { type: 'RUN_FINISHED', threadId: 't', runId: 'r' }

function decodeAll(...events: AgUiEvent[]): { chunks: Chunk[]; status: AgUiDecoder['status'] } {
  const decoder = new AgUiDecoder()
  const chunks = events.flatMap(event => decoder.decode(event).map(({ chunk }) => chunk))
  return { chunks, status: decoder.status }
}

describe('events of a foreign server', () => {
  test('decodes text, reasoning, a call and its result', () => {
    const { chunks, status } = decodeAll(
      STARTED,
      { type: 'REASONING_START', messageId: 'm0' },
      { type: 'REASONING_MESSAGE_START', messageId: 'm0', role: 'reasoning' },
      { type: 'REASONING_MESSAGE_CONTENT', messageId: 'm0', delta: 'Hm' },
      { type: 'REASONING_MESSAGE_END', messageId: 'm0' },
      { type: 'REASONING_END', messageId: 'm0' },
      { type: 'TOOL_CALL_START', toolCallId: 'c', toolCallName: 'add' },
      { type: 'TOOL_CALL_ARGS', toolCallId: 'c', delta: '{"a":' },
      { type: 'TOOL_CALL_ARGS', toolCallId: 'c', delta: '1}' },
      { type: 'TOOL_CALL_END', toolCallId: 'c' },
      { type: 'TOOL_CALL_RESULT', messageId: 'm1', toolCallId: 'c', content: '[2]' },
      { type: 'TEXT_MESSAGE_START', messageId: 'm2' },
      { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm2', delta: 'Two' },
      { type: 'TEXT_MESSAGE_END', messageId: 'm2' },
      { ...FINISHED, result: { sum: 2 } },
    )
    expect(chunks).toEqual([
      { type: 'start' },
      { type: 'reasoning-start', id: 'm0' },
      { type: 'reasoning-delta', id: 'm0', delta: 'Hm' },
      { type: 'reasoning-end', id: 'm0' },
      { type: 'tool-input-start', toolCallId: 'c', toolName: 'add' },
      { type: 'tool-input-delta', toolCallId: 'c', delta: '{"a":' },
      { type: 'tool-input-delta', toolCallId: 'c', delta: '1}' },
      { type: 'tool-input-available', toolCallId: 'c', toolName: 'add', input: { a: 1 } },
      { type: 'tool-output-available', toolCallId: 'c', output: [2] },
      { type: 'text-start', id: 'm2' },
      { type: 'text-delta', id: 'm2', delta: 'Two' },
      { type: 'text-end', id: 'm2' },
      { type: 'output', output: { sum: 2 } },
      { type: 'run-finished', status: 'completed' },
    ])
    expect(status).toBe('completed')
  })

  test('adds the start and end of *_CHUNK events', () => {
    const { chunks } = decodeAll(
      STARTED,
      { type: 'TEXT_MESSAGE_CHUNK', messageId: 'm1', delta: 'He' },
      { type: 'TEXT_MESSAGE_CHUNK', delta: 'llo' },
      { type: 'TOOL_CALL_CHUNK', toolCallId: 'c', toolCallName: 'add', delta: '{}' },
      { type: 'TOOL_CALL_CHUNK', delta: '' },
      FINISHED,
    )
    expect(chunks.map(({ type }) => type)).toEqual([
      'start',
      'text-start',
      'text-delta',
      'text-delta',
      'text-end',
      'tool-input-start',
      'tool-input-delta',
      'tool-input-delta',
      'tool-input-available',
      'run-finished',
    ])
    expect(() => decodeAll(STARTED, { type: 'TEXT_MESSAGE_CHUNK', delta: 'x' })).toThrow('expected an id')
  })

  test('decodes interrupts to approvals of calls or to questions', () => {
    const { chunks, status } = decodeAll(
      STARTED,
      { type: 'TOOL_CALL_START', toolCallId: 'c', toolCallName: 'pay' },
      { type: 'TOOL_CALL_END', toolCallId: 'c' },
      {
        ...FINISHED,
        outcome: {
          type: 'interrupt',
          interrupts: [
            { id: 'i1', reason: 'tool_call', toolCallId: 'c', expiresAt: '2030-01-01T00:00:00.000Z' },
            { id: 'i2', reason: 'input_required', message: 'How many?' },
          ],
        },
      } as AgUiEvent,
    )
    expect(status).toBe('paused')
    expect(chunks.slice(3)).toMatchObject([
      { type: 'tool-approval-request', approvalId: 'i1', toolCallId: 'c', input: {}, deadline: Date.UTC(2030, 0, 1) },
      { type: 'interrupt', interruptId: 'i2', input: { kind: 'text', question: 'How many?' } },
      {
        type: 'run-paused',
        awaits: [
          { kind: 'approval', id: 'i1', toolCallId: 'c' },
          { kind: 'interrupt', id: 'i2' },
        ],
      },
    ])
  })

  test('decodes requests in custom events, before or after RUN_FINISHED', () => {
    const call = { toolCallId: 'c', toolName: 'pay', input: { sum: 1 } }
    const approval = { type: 'CUSTOM', name: 'approval-requested', value: { ...call, approval: { id: 'a' } } } as const
    const clientTool = { type: 'CUSTOM', name: 'tool-input-available', value: { ...call, toolCallId: 'd' } } as const
    for (const events of [
      [approval, clientTool, FINISHED],
      [FINISHED, approval, clientTool],
    ]) {
      const { chunks, status } = decodeAll(STARTED, ...events)
      expect(status).toBe('paused')
      expect(chunks).toContainEqual({ type: 'tool-approval-request', approvalId: 'a', ...call })
      expect(chunks).toContainEqual({ type: 'tool-input-available', ...call, toolCallId: 'd', executor: 'client' })
      expect(chunks.findLast(({ type }) => type === 'run-paused')).toMatchObject({
        awaits: [
          { kind: 'approval', toolCallId: 'c' },
          { kind: 'client-tool', toolCallId: 'd' },
        ],
      })
    }
    expect(decodeAll(STARTED, { ...approval, name: 'other' }, FINISHED).status).toBe('completed')
  })

  test('decodes activities to replaceable data and raw events to transient data', () => {
    const activity = { messageId: 'a', activityType: 'search' }
    const { chunks, status } = decodeAll(
      STARTED,
      { type: 'ACTIVITY_DELTA', ...activity, patch: [{ op: 'add', path: '/x', value: 1 }] },
      { type: 'ACTIVITY_SNAPSHOT', ...activity, content: { found: 1 } },
      { type: 'ACTIVITY_DELTA', ...activity, patch: [{ op: 'replace', path: '/found', value: 2 }] },
      { type: 'ACTIVITY_DELTA', ...activity, patch: [{ op: 'remove', path: '/nowhere' }] },
      { type: 'ACTIVITY_SNAPSHOT', ...activity, content: { found: 9 }, replace: false },
      { type: 'RAW', event: { usage: 1 }, source: 'model' },
      FINISHED,
    )
    expect(status).toBe('completed')
    expect(chunks.slice(1, -1)).toEqual([
      { type: 'data-search', id: 'a', data: { found: 1 } },
      { type: 'data-search', id: 'a', data: { found: 2 } },
      { type: 'data-raw', data: { usage: 1 }, transient: true },
    ])
  })

  test('skips repeated user messages', () => {
    const { chunks } = decodeAll(
      STARTED,
      { type: 'TEXT_MESSAGE_START', messageId: 'u', role: 'user' },
      { type: 'TEXT_MESSAGE_CONTENT', messageId: 'u', delta: 'hi' },
      { type: 'TEXT_MESSAGE_END', messageId: 'u' },
    )
    expect(chunks).toEqual([{ type: 'start' }])
  })

  test('decodes only the new content of a messages snapshot and rejects an invalid one', () => {
    const streamed: AgUiEvent[] = [
      STARTED,
      { type: 'TEXT_MESSAGE_START', messageId: 'm', role: 'assistant' },
      { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: 'a' },
      { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: 'b' },
      { type: 'TEXT_MESSAGE_END', messageId: 'm' },
    ]
    const user = { id: 'u', role: 'user', content: 'hi' } as const
    const snapshot = (...messages: unknown[]): AgUiEvent => ({ type: 'MESSAGES_SNAPSHOT', messages: messages as [] })
    const chunksAfter = (...events: AgUiEvent[]) => decodeAll(...streamed, ...events).chunks.slice(streamed.length)
    expect(chunksAfter(snapshot(user, { id: 'other', role: 'assistant', content: 'ab' }))).toEqual([])
    expect(chunksAfter(snapshot(user), snapshot(user, 7, { id: 'm', role: 'assistant', content: 7 }))).toEqual([])
    expect(chunksAfter(snapshot(user, { id: 'm', role: 'assistant', content: 'abc' })).map(({ type }) => type)).toEqual(
      ['step-discarded', 'text-start', 'text-delta', 'text-end'],
    )
    expect(() => decodeAll(STARTED, { type: 'MESSAGES_SNAPSHOT', messages: 5 } as never)).toThrow('expected an array')
  })

  test('reports cancelled, failed and missing ends (law 7)', () => {
    expect(decodeAll(STARTED, { ...FINISHED, outcome: { type: 'cancelled' } } as AgUiEvent).status).toBe('interrupted')
    const failed = decodeAll(STARTED, { type: 'RUN_ERROR', message: 'no more', code: 'E1' })
    expect(failed.status).toBe('failed')
    expect(failed.chunks).toEqual([
      { type: 'start' },
      { type: 'error', message: 'no more', code: 'E1' },
      { type: 'run-finished', status: 'failed', reason: 'no more' },
    ])
    expect(decodeAll(STARTED).status).toBeUndefined()
  })

  test('gives chunks of a sub-agent their own origin', () => {
    const decoder = new AgUiDecoder()
    decoder.decode(STARTED)
    decoder.decode({ type: 'SUBAGENT_STARTED', subagentRunId: 's', name: 'helper', parentToolCallId: 'c' })
    const [decoded] = decoder.decode({ type: 'TEXT_MESSAGE_START', messageId: 'm', subagentRunId: 's' })
    expect(decoded?.origin).toMatchObject({ agentId: 's', agentType: 'helper' })
    const [end] = decoder.decode({ type: 'SUBAGENT_FINISHED', subagentRunId: 's', result: 1 })
    expect(end?.chunk).toEqual({
      type: 'subagent-end',
      agentId: 's',
      agentType: 'helper',
      toolCallId: 'c',
      status: 'completed',
      result: 1,
    })
  })

  test('rejects an invalid event and an extension without a chunk', () => {
    expect(() => decodeAll(null as never)).toThrow('expected an object with a type')
    expect(() => decodeAll({ type: 'CUSTOM', name: 'millrace', value: 1 })).toThrow('expected a chunk')
  })
})

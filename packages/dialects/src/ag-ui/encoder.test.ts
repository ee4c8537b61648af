import type { Chunk, WriterOrigin } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import { AgUiEncoder, type AgUiEncoderOptions } from './encoder.ts'
import type { AgUiEvent } from './types.ts'

const ROOT: WriterOrigin = { runId: 'r', lane: 'main', agentId: 'r', agentType: 'boss', step: 1 }
const CHILD: WriterOrigin = { ...ROOT, lane: 'sub', agentId: 's', agentType: 'helper' }

function encodeAll(options: AgUiEncoderOptions, ...chunks: readonly (readonly [Chunk, WriterOrigin?])[]): AgUiEvent[] {
  const encoder = new AgUiEncoder({ runId: 'r', ...options })
  return chunks.flatMap(([chunk, origin = ROOT]) => encoder.encode({ chunk, origin }))
}

const typesOf = (events: readonly AgUiEvent[]) => events.map(({ type }) => type)

describe('open parts', () => {
  test('closes open parts before a run ends', () => {
    const encoder = new AgUiEncoder({ runId: 'r' })
    const chunks: readonly (readonly [Chunk, WriterOrigin?])[] = [
      [{ type: 'step-start' }],
      [{ type: 'text-delta', id: '1', delta: 'a' }],
      [{ type: 'reasoning-delta', id: '2', delta: 'b' }],
      [{ type: 'tool-input-start', toolCallId: 'c', toolName: 'ask' }],
      [{ type: 'subagent-start', agentId: 's', agentType: 'helper', toolCallId: 'c' }],
      [{ type: 'text-delta', id: '1', delta: 'c' }, CHILD],
    ]
    for (const [chunk, origin = ROOT] of chunks) encoder.encode({ chunk, origin })
    expect(typesOf(encoder.end('interrupted'))).toEqual([
      'TEXT_MESSAGE_END',
      'REASONING_MESSAGE_END',
      'REASONING_END',
      'TEXT_MESSAGE_END',
      'TOOL_CALL_END',
      'STEP_FINISHED',
      'SUBAGENT_ERROR',
      'TOOL_CALL_RESULT',
      'RUN_FINISHED',
    ])
    expect(encoder.end('interrupted')).toEqual([])
    expect(encoder.encode({ chunk: { type: 'status', message: 'late' }, origin: ROOT })).toEqual([])
  })

  test('opens open parts again for a resumed client', () => {
    const encoder = new AgUiEncoder({ runId: 'r', echo: { threadId: 't', runId: 'theirs' } })
    encoder.encode({
      chunk: { type: 'subagent-start', agentId: 's', agentType: 'helper', toolCallId: 'c' },
      origin: ROOT,
    })
    const approval = { type: 'tool-approval-request', toolCallId: 'd', approvalId: 'a', input: {} } as const
    encoder.encode({ chunk: approval, origin: CHILD })
    expect(encoder.end('paused')).toMatchObject([
      { type: 'SUBAGENT_FINISHED', outcome: { type: 'suspended', interruptIds: ['approval:a'] } },
      { type: 'RUN_FINISHED', runId: 'theirs', outcome: { type: 'interrupt', interrupts: [{ subagentRunId: 's' }] } },
    ])
    expect(typesOf(encoder.resume())).toEqual(['RUN_STARTED', 'SUBAGENT_STARTED'])
    const end = {
      type: 'subagent-end',
      agentId: 's',
      agentType: 'helper',
      toolCallId: 'c',
      status: 'completed',
    } as const
    expect(typesOf(encoder.encode({ chunk: end, origin: ROOT }))).toEqual(['SUBAGENT_FINISHED'])
  })

  test('repeats no open part for a continued client', () => {
    const encoder = new AgUiEncoder({ runId: 'r', isContinued: true })
    encoder.encode({ chunk: { type: 'text-delta', id: '1', delta: 'a' }, origin: ROOT })
    expect(encoder.resume()).toEqual([])
    const [event, ...more] = encoder.encode({ chunk: { type: 'text-delta', id: '1', delta: 'b' }, origin: ROOT })
    expect([event, more]).toEqual([{ type: 'TEXT_MESSAGE_CONTENT', messageId: 'r::r/1', delta: 'b' }, []])
  })

  test('has at most one open step of a name', () => {
    const events = encodeAll(
      {},
      [{ type: 'step-start', stepId: 'x' }],
      [
        { type: 'step-start', stepId: 'x' },
        { ...ROOT, lane: 'b' },
      ],
    )
    expect(typesOf(events)).toEqual(['RUN_STARTED', 'STEP_STARTED', 'STEP_FINISHED', 'STEP_STARTED'])
  })
})

test('attaches calls to the last text of their step, or to a message of their own', () => {
  const call = (toolCallId: string): readonly [Chunk] => [{ type: 'tool-input-start', toolCallId, toolName: 'f' }]
  const events = encodeAll(
    {},
    [{ type: 'step-start' }],
    [{ type: 'text-delta', id: '1', delta: 'a' }],
    call('c1'),
    call('c2'),
    [{ type: 'step-start' }],
    call('c3'),
    call('c4'),
  )
  const starts = events.filter(event => event.type === 'TOOL_CALL_START')
  expect(starts.map(({ parentMessageId }) => parentMessageId)).toEqual([
    'r::r/1',
    'r::r/1',
    'r::r/call:c3',
    'r::r/call:c3',
  ])
})

test('sends all remaining messages after a discard of one lane', () => {
  const events = encodeAll(
    { before: { messages: [{ id: 'u', role: 'user', content: 'Hi' }] } },
    [{ type: 'text-delta', id: '1', delta: 'kept ' }],
    [{ type: 'checkpoint-created', checkpointId: 'k' }],
    [{ type: 'text-delta', id: '1', delta: 'gone' }],
    [{ type: 'tool-input-start', toolCallId: 'c', toolName: 'f' }],
    [{ type: 'text-delta', id: '1', delta: 'child' }, CHILD],
    [{ type: 'step-discarded', reason: 'overloaded' }],
  )
  expect(typesOf(events.slice(-3))).toEqual(['TEXT_MESSAGE_END', 'TOOL_CALL_END', 'MESSAGES_SNAPSHOT'])
  expect(events.at(-1)).toMatchObject({
    messages: [{ id: 'u' }, { id: 'r::r/1', content: 'kept ' }, { id: 'r::s/1', content: 'child', subagentRunId: 's' }],
  })
})

test('sums usage by model, including discarded attempts', () => {
  const used = { type: 'step-finish', usage: { inputTokens: 3, outputTokens: 2, cachedTokens: 1 } } as const
  const model = { ...ROOT, model: 'm' }
  const events = encodeAll({}, [used, model], [used, model], [used], [{ type: 'run-finished', status: 'completed' }])
  expect(events.at(-1)).toMatchObject({
    usage: [
      { model: 'm', inputTokens: 6, outputTokens: 4, cachedInputTokens: 2 },
      { inputTokens: 3, outputTokens: 2, cachedInputTokens: 1 },
    ],
  })
})

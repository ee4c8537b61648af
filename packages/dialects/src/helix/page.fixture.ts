// One chunk of every documented type.

import type { StreamMessage } from './types.ts'

const base = { agentId: 'run-123', agentType: 'assistant', timestamp: 1_700_000_000_000, step: 1 }
const call = { toolCallId: 'call-1', toolName: 'search' }
const approval = { ...call, approvalId: 'run-123::call-1' }
const child = { subAgentType: 'researcher', subSessionId: 'sub-1', callId: 'call-2' }

/** Every type with all of its fields, in a valid order of a run. */
export const page: readonly StreamMessage[] = [
  { type: 'step_start', stepId: 'step-1', ...base },
  { type: 'thinking', content: 'Let me', isComplete: false, ...base },
  { type: 'thinking', content: ' see.', isComplete: false, ...base },
  { type: 'thinking', content: 'Let me see.', isComplete: true, ...base },
  { type: 'text_delta', delta: 'Hello', ...base },
  { type: 'text_delta', delta: ' world', ...base },
  { type: 'source_url', sourceId: 's1', url: 'https://example.test', title: 'Example', ...base },
  { type: 'source_document', sourceId: 's2', mediaType: 'application/pdf', title: 'A', filename: 'a.pdf', ...base },
  { type: 'file', url: 'data:,x', mediaType: 'text/plain', filename: 'x.txt', ...base },
  { type: 'tool_arg_stream_start', ...call, ...base },
  { type: 'tool_arg_stream_delta', toolCallId: 'call-1', delta: '{"q":"mill"}', ...base },
  { type: 'tool_arg_stream_end', toolCallId: 'call-1', ...base },
  { type: 'tool_start', ...call, arguments: { q: 'mill' }, ...base },
  {
    type: 'step_end',
    stepId: 'step-1',
    usage: { inputTokens: 3, outputTokens: 5, cachedTokens: 1, cacheWriteTokens: 2 },
    finishReason: 'tool-calls',
    ...base,
  },
  { type: 'checkpoint_created', runId: 'run-123', checkpointId: 'cp-1', stepCount: 1, ...base },
  { type: 'step_committed', runId: 'run-123', stepId: 'step-1', checkpointId: 'cp-1', ...base },
  { type: 'tool_approval_request', ...approval, input: { q: 'mill' }, isAutomatic: false, ...base },
  { type: 'suspension_marker', kind: 'suspended_client_tool', payload: { toolCallIds: ['call-1'] }, ...base },
  {
    type: 'run_paused',
    runId: 'run-123',
    reason: 'approval',
    pendingToolName: 'search',
    pendingToolCallId: 'call-1',
    ...base,
  },
  { type: 'tool_approval_response', ...approval, approved: true, reason: 'fine', isAutomatic: false, ...base },
  {
    type: 'run_resumed',
    runId: 'run-123',
    fromCheckpointId: 'cp-1',
    fromStepCount: 1,
    mode: 'with_confirmation',
    ...base,
  },
  { type: 'tool_end', ...call, result: { hits: 2 }, providerExecuted: true, ...base },
  {
    type: 'tool_input_error',
    toolCallId: 'call-3',
    toolName: 'search',
    error: 'no JSON',
    partialInput: { q: 'm' },
    ...base,
  },
  { type: 'tool_output_error', toolCallId: 'call-4', toolName: 'search', error: 'down', ...base },
  { type: 'subagent_start', ...child, ...base },
  { type: 'text_delta', delta: 'Researching', ...base, agentId: 'sub-1', agentType: 'researcher' },
  { type: 'subagent_end', ...child, result: { found: true }, ...base },
  { type: 'custom', eventName: 'progress', data: { percent: 50 }, ...base },
  {
    type: 'state_patch',
    patches: [
      { op: 'add', path: '/a', value: 1 },
      { op: 'replace', path: '/a', value: 2 },
      { op: 'test', path: '/a', value: 2 },
      { op: 'copy', from: '/a', path: '/b' },
      { op: 'move', from: '/b', path: '/c' },
      { op: 'remove', path: '/c' },
    ],
    ...base,
  },
  { type: 'executor_superseded', reason: 'stale state', ...base },
  { type: 'step_discarded', runId: 'run-123', stepId: 'step-2', reason: 'superseded', ...base },
  {
    type: 'stream_resync',
    checkpointId: 'cp-1',
    stepCount: 1,
    messageCount: 2,
    fromSequence: 15,
    reason: 'crash_recovery',
    ...base,
  },
  {
    type: 'error',
    error: 'overloaded',
    code: 'provider_overloaded',
    errorDetail: {
      message: 'overloaded',
      code: 'provider_overloaded',
      category: 'provider',
      cause: '529',
      retryable: true,
    },
    recoverable: true,
    ...base,
  },
  { type: 'output', output: { answer: 42 }, ...base },
  { type: 'run_interrupted', runId: 'run-123', checkpointId: null, reason: 'enough', ...base },
  { type: 'stream_end', streamId: 'session-1', timestamp: base.timestamp, finalOutput: { answer: 42 } },
]

// Chunks of a program: the texts of a step and the start of its calls.

import type { Chunk, WriterOrigin } from '@millrace/protocol'
import type { ScriptCall, ScriptStep } from './run-script.fixture.ts'

const executorOf = ({ kind }: ScriptCall): 'client' | 'server' => (kind.endsWith('client') ? 'client' : 'server')

/** The texts of one attempt at a step. Each text is unique. */
export function stepTextChunks(
  { hasReasoning, deltas, extra, calls }: ScriptStep,
  { runId, lane }: WriterOrigin,
  position: number,
  attempt: number,
  newToken: () => string,
): Chunk[] {
  const id = `${lane}.${position}`
  const chunks: Chunk[] = [{ type: 'step-start', attempt }]
  if (hasReasoning) chunks.push({ type: 'reasoning-delta', id, delta: newToken() }, { type: 'reasoning-end', id })
  chunks.push({ type: 'text-start', id })
  for (let i = 0; i < deltas; i++) chunks.push({ type: 'text-delta', id, delta: newToken() })
  if (extra === 'data') {
    chunks.push({ type: 'data-note', id: 'note', data: newToken() }, { type: 'data-mark', data: position })
  }
  if (extra === 'transient') chunks.push({ type: 'data-flash', data: newToken(), transient: true })
  if (extra === 'metadata') chunks.push({ type: 'message-metadata', metadata: { attempt } })
  if (extra === 'structured') {
    const common = { type: 'structured-data', streamId: `${runId}:${lane}`, dataType: 'list' } as const
    chunks.push({ ...common, kind: 'append', path: 'items', items: [newToken()] })
    chunks.push({ ...common, kind: 'text-delta', path: 'text', delta: newToken() })
  }
  for (const call of calls) {
    const { id: toolCallId, kind: toolName } = call
    if (toolName === 'question') continue
    chunks.push({ type: 'tool-input-start', toolCallId, toolName, executor: executorOf(call) })
    chunks.push({ type: 'tool-input-delta', toolCallId, delta: '{"a":' })
  }
  chunks.push({ type: 'text-end', id })
  return chunks
}

/** The chunks that open a call, in the commit of its step. */
export function callChunks(call: ScriptCall, { agentType }: WriterOrigin, until: { deadline?: number }): Chunk[] {
  const { id, kind } = call
  if (kind === 'question') return [{ type: 'interrupt', interruptId: id, input: { kind: 'text' }, ...until }]
  const executor = executorOf(call)
  const callFields = { toolCallId: id, toolName: kind, input: { a: id }, executor } as const
  const opening: Chunk[] = [{ type: 'tool-input-available', ...callFields, ...(executor === 'client' ? until : {}) }]
  if (kind.startsWith('approved')) {
    opening.push({ type: 'tool-approval-request', toolCallId: id, approvalId: `ok:${id}`, input: { a: id }, ...until })
  }
  if (kind === 'agent') {
    opening.push({ type: 'subagent-start', agentId: id, agentType, toolCallId: id, lane: `agent ${id}` })
  }
  return opening
}

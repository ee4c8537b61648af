// Interrupts and client tool calls of foreign servers, as chunks of ours.

import type { Chunk, JsonObject, PendingRef, Question } from '@millrace/protocol'
import { expectArray, expectObject, expectString } from '../../dialect/validate.ts'
import type { AgUiInterrupt, EventOf } from '../types.ts'

/** Whether a person has to respond to an interrupt. False for a call of a client tool: the open call already says so. */
export const needsPerson = ({ reason, toolCallId, metadata }: AgUiInterrupt): boolean =>
  toolCallId === undefined || !(/client_tool/.test(reason) || metadata?.['kind'] === 'client_tool')

/** Validates the interrupts of an outcome. */
export const expectInterrupts = (value: unknown): readonly AgUiInterrupt[] =>
  expectArray(value, 'event RUN_FINISHED.outcome.interrupts').map(interrupt => {
    const { reason } = expectObject(interrupt, 'event RUN_FINISHED.outcome.interrupts')
    expectString(reason, 'event RUN_FINISHED.outcome.interrupts.reason')
    return interrupt as AgUiInterrupt
  })

/** The ids of the calls that an outcome leaves to the client. */
export const pendingCallIdsOf = (value: unknown): readonly string[] =>
  expectArray(value ?? [], 'event RUN_FINISHED.outcome.pendingToolCallIds').map(id =>
    expectString(id, 'event RUN_FINISHED.outcome.pendingToolCallIds'),
  )

export const deadlineOf = (expiresAt: string | undefined) =>
  typeof expiresAt === 'string' ? { deadline: Date.parse(expiresAt) } : {}

export function interruptChunkOf({
  id: interruptId,
  message,
  responseSchema: schema,
  expiresAt,
}: AgUiInterrupt): Chunk {
  const path = 'event RUN_FINISHED.outcome.interrupts.responseSchema'
  const responseSchema = schema === undefined ? undefined : expectObject(schema, path)
  const question = message === undefined ? {} : { question: message }
  const input: Question =
    responseSchema === undefined || responseSchema['type'] === 'string'
      ? { kind: 'text', ...question }
      : { kind: 'form', ...question, schema: responseSchema as JsonObject }
  return { type: 'interrupt', interruptId, input, ...deadlineOf(expiresAt) }
}

export const clientToolRef = (toolCallId: string): PendingRef => ({ kind: 'client-tool', id: toolCallId, toolCallId })

/** The request in a custom event of TanStack AI before 0.23. */
export function requestInCustomEvent({
  name,
  value,
}: EventOf<'CUSTOM'>): { readonly chunk: Chunk; readonly awaits: PendingRef } | undefined {
  const { toolCallId, toolName, input = null, approval } = Object(value) as JsonObject
  if (typeof toolCallId !== 'string' || typeof toolName !== 'string') return undefined
  if (name === 'tool-input-available')
    return { chunk: { type: name, toolCallId, toolName, input, executor: 'client' }, awaits: clientToolRef(toolCallId) }
  const { id } = Object(approval) as JsonObject
  if (name !== 'approval-requested' || typeof id !== 'string') return undefined
  const chunk: Chunk = { type: 'tool-approval-request', toolCallId, toolName, approvalId: id, input }
  return { chunk, awaits: { kind: 'approval', id, toolCallId } }
}

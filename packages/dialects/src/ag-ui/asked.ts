// What other servers ask for, as we do.

import type { Chunk, JsonObject, PendingRef, Question } from '@millrace/protocol'
import { expectArray, expectObject, expectString } from '../dialect/validate.ts'
import type { AgUiInterrupt, EventOf } from './event.ts'

/** Tells what people are asked from calls that are the client's to run: those stay open, which says it. */
export const asksPeople = ({ reason, toolCallId, metadata }: AgUiInterrupt): boolean =>
  toolCallId === undefined || !(/client_tool/.test(reason) || metadata?.['kind'] === 'client_tool')

/** The interrupts that an outcome says, where they can be read. */
export const interruptsIn = (said: unknown): readonly AgUiInterrupt[] =>
  expectArray(said, 'event RUN_FINISHED.outcome.interrupts').map(one => {
    const { reason } = expectObject(one, 'event RUN_FINISHED.outcome.interrupts')
    expectString(reason, 'event RUN_FINISHED.outcome.interrupts.reason')
    return one as AgUiInterrupt
  })

/** The calls that an outcome leaves to the client. */
export const callsIn = (said: unknown): readonly string[] =>
  expectArray(said ?? [], 'event RUN_FINISHED.outcome.pendingToolCallIds').map(id =>
    expectString(id, 'event RUN_FINISHED.outcome.pendingToolCallIds'),
  )

export const deadlineOf = (expiresAt: string | undefined) =>
  typeof expiresAt === 'string' ? { deadline: Date.parse(expiresAt) } : {}

export function questionOf({ id: interruptId, message, responseSchema: said, expiresAt }: AgUiInterrupt): Chunk {
  const place = 'event RUN_FINISHED.outcome.interrupts.responseSchema'
  const responseSchema = said === undefined ? undefined : expectObject(said, place)
  const question = message === undefined ? {} : { question: message }
  const input: Question =
    responseSchema === undefined || responseSchema['type'] === 'string'
      ? { kind: 'text', ...question }
      : { kind: 'form', ...question, schema: responseSchema as JsonObject }
  return { type: 'interrupt', interruptId, input, ...deadlineOf(expiresAt) }
}

export const clientCall = (toolCallId: string): PendingRef => ({ kind: 'client-tool', id: toolCallId, toolCallId })

/** What servers of TanStack AI before 0.23 ask by events of their own. */
export function askedBy({
  name,
  value,
}: EventOf<'CUSTOM'>): { readonly chunk: Chunk; readonly awaits: PendingRef } | undefined {
  const { toolCallId, toolName, input = null, approval } = Object(value) as JsonObject
  if (typeof toolCallId !== 'string' || typeof toolName !== 'string') return undefined
  if (name === 'tool-input-available')
    return { chunk: { type: name, toolCallId, toolName, input, executor: 'client' }, awaits: clientCall(toolCallId) }
  const { id } = Object(approval) as JsonObject
  if (name !== 'approval-requested' || typeof id !== 'string') return undefined
  const chunk: Chunk = { type: 'tool-approval-request', toolCallId, toolName, approvalId: id, input }
  return { chunk, awaits: { kind: 'approval', id, toolCallId } }
}

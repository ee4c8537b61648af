// The pendings of a run as interrupts of AG-UI. The id of an interrupt has its kind, so that an answer needs only the id.

import type { ChunkOf, Json, JsonObject, Question } from '@millrace/protocol'
import { isObject } from '@millrace/protocol/internal'
import type { ClientAnswer } from '../../dialect/client-request.ts'
import { defined } from '../../dialect/fields.ts'
import { type PendingRequest, PendingTracker } from '../../dialect/pending-tracker.ts'
import type { AgUiInterrupt } from '../types.ts'

const APPROVAL = 'approval:'

/** The id of an approval out of the id of its interrupt. Other ids stay as they are. */
export const approvalIdOf = (interruptId: string): string =>
  interruptId.startsWith(APPROVAL) ? interruptId.slice(APPROVAL.length) : interruptId

/** The id of the interrupt of a client tool call. */
export const callInterruptIdOf = (toolCallId: string): string => `${CALL}${toolCallId}`

const CALL = 'tool:'
const QUESTION = 'question:'

const APPROVAL_SCHEMA: JsonObject = {
  type: 'object',
  properties: { approved: { type: 'boolean' }, reason: { type: 'string' } },
  required: ['approved'],
}

const isoTimeOf = (deadline: number | undefined): string | undefined => {
  const date = new Date(deadline ?? Number.NaN)
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString()
}

/** Tracks the pendings of a run, and returns them as interrupts. */
export class PendingInterrupts extends PendingTracker {
  /** Calls that the client has to run. */
  get calls(): readonly AgUiInterrupt[] {
    return this.clientCalls.map(callOf)
  }

  /** Interrupts that a person has to answer. */
  get questions(): readonly AgUiInterrupt[] {
    return [...this.approvals.map(approvalOf), ...this.interrupts.map(questionOf)]
  }
}

function approvalOf({
  chunk,
  agentId: subagentRunId,
}: PendingRequest<ChunkOf<'tool-approval-request'>>): AgUiInterrupt {
  const { approvalId, toolCallId, toolName, input, deadline } = chunk
  return defined({
    id: `${APPROVAL}${approvalId}`,
    reason: 'tool_call',
    message: toolName === undefined ? undefined : `May ${toolName} run?`,
    toolCallId,
    responseSchema: APPROVAL_SCHEMA,
    expiresAt: isoTimeOf(deadline),
    metadata: defined({ kind: 'approval', toolName, input }) as JsonObject,
    subagentRunId,
  })
}

function callOf({ chunk, agentId: subagentRunId }: PendingRequest<ChunkOf<'tool-input-available'>>): AgUiInterrupt {
  const { toolCallId, toolName, input, deadline } = chunk
  return defined({
    id: `${CALL}${toolCallId}`,
    reason: 'client_tool',
    toolCallId,
    expiresAt: isoTimeOf(deadline),
    metadata: { kind: 'client_tool', toolName, input },
    subagentRunId,
  })
}

function questionOf({ chunk, agentId: subagentRunId }: PendingRequest<ChunkOf<'interrupt'>>): AgUiInterrupt {
  const { interruptId, input, deadline, meta } = chunk
  return defined({
    id: `${QUESTION}${interruptId}`,
    reason: 'input_required',
    message: input.question,
    responseSchema: schemaOf(input),
    expiresAt: isoTimeOf(deadline),
    metadata: defined({ kind: 'question', question: input as unknown as Json, meta }) as JsonObject,
    subagentRunId,
  })
}

/** The JSON schema of the response to a question. */
function schemaOf(question: Question): JsonObject | undefined {
  if (question.kind === 'text') return { type: 'string' }
  if (question.kind === 'form') {
    const { schema } = question
    return isObject(schema) ? schema : undefined
  }
  const one: JsonObject = {
    type: 'string',
    oneOf: question.options.map(({ id, label }) => ({ const: id, title: label })),
  }
  return question.kind === 'multi-choice' || question.multiple === true ? { type: 'array', items: one } : one
}

/** The ids that the interrupt of an answer can have: as a foreign server or a Millrace server names it. */
export const interruptIdsOf = ({ kind, id }: ClientAnswer): readonly string[] => [
  id,
  `${kind === 'approval' ? APPROVAL : kind === 'interrupt' ? QUESTION : CALL}${id}`,
]

/** A response to an interrupt, from a client. */
export interface AgUiResume {
  readonly interruptId: string
  readonly status: 'resolved' | 'cancelled'
  readonly payload?: unknown
}

/** Whether a response decides about an approval without saying yes or no. */
export const isUndecided = ({ interruptId, status, payload }: AgUiResume): boolean =>
  interruptId.startsWith(APPROVAL) && status === 'resolved' && decisionIn(payload) === undefined

/** The decision about an approval: a boolean, or an object with `approved`. Undefined if it has neither. */
function decisionIn(payload: unknown): Pick<ApprovalAnswer, 'approved' | 'reason' | 'input'> | undefined {
  const { approved = payload, reason, editedArgs: input } = Object(payload) as { [field: string]: unknown }
  if (typeof approved !== 'boolean') return undefined
  return {
    approved,
    ...(typeof reason === 'string' && { reason }),
    // The tool runs with the input that was shown, or not at all.
    ...(input !== undefined && { input: input as Json }),
  }
}

type ApprovalAnswer = Extract<ClientAnswer, { kind: 'approval' }>

/** The answer in a response to an interrupt. Undefined for a cancelled question, and for an approval without a decision. */
export function answerFromResume({ interruptId, status, payload }: AgUiResume): ClientAnswer | undefined {
  const isCancelled = status === 'cancelled'
  if (interruptId.startsWith(APPROVAL)) {
    const decision = isCancelled ? { ...decisionIn(payload), approved: false } : decisionIn(payload)
    return decision && { kind: 'approval', id: approvalIdOf(interruptId), ...decision }
  }
  if (interruptId.startsWith(CALL)) {
    const id = interruptId.slice(CALL.length)
    if (isCancelled)
      return { kind: 'tool-result', id, error: typeof payload === 'string' ? payload : 'The client did not run it.' }
    return { kind: 'tool-result', id, output: (payload ?? null) as Json }
  }
  if (isCancelled) return undefined
  return { kind: 'interrupt', id: questionIdOf(interruptId), response: (payload ?? null) as Json }
}

/** The interrupt id of a question, out of the id that the client has. */
const questionIdOf = (interruptId: string): string =>
  interruptId.startsWith(QUESTION) ? interruptId.slice(QUESTION.length) : interruptId

/** The interrupt id of a question that the client cancelled. Undefined for other responses. */
export const cancelledQuestionIn = ({ interruptId, status }: AgUiResume): string | undefined =>
  status !== 'cancelled' || interruptId.startsWith(APPROVAL) || interruptId.startsWith(CALL)
    ? undefined
    : questionIdOf(interruptId)

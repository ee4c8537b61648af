// What a run waits for, as interrupts. Their ids tell what they ask for, so that an answer needs no more than the id.

import type { Chunk, ChunkOf, Json, JsonObject, Question } from '@millrace/protocol'
import { isObject } from '@millrace/protocol/internal'
import type { ClientAnswer } from '../dialect/client-request.ts'
import { defined } from '../dialect/fields.ts'
import { isToolResult } from '../dialect/tool-result.ts'
import type { AgUiInterrupt } from './event.ts'

const APPROVAL = 'approval:'

/** The id of an approval out of the id of its interrupt. Other ids stay as they are. */
export const approvalIdOf = (interruptId: string): string =>
  interruptId.startsWith(APPROVAL) ? interruptId.slice(APPROVAL.length) : interruptId

const CALL = 'tool:'
const QUESTION = 'question:'

const APPROVAL_SCHEMA: JsonObject = {
  type: 'object',
  properties: { approved: { type: 'boolean' }, reason: { type: 'string' } },
  required: ['approved'],
}

const timeOf = (deadline: number | undefined): string | undefined => {
  const date = new Date(deadline ?? Number.NaN)
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString()
}

/** Follows what a run waits for. */
export class PendingInterrupts {
  readonly #approvals = new Map<string, AgUiInterrupt>()
  readonly #calls = new Map<string, AgUiInterrupt>()
  readonly #questions = new Map<string, AgUiInterrupt>()

  /** Takes a chunk into account; `subagentRunId` is whose it is, where it is a sub-agent's. */
  follow(chunk: Chunk, subagentRunId?: string): void {
    switch (chunk.type) {
      case 'tool-approval-request':
        if (!chunk.isAutomatic) this.#approvals.set(chunk.toolCallId, approvalOf(chunk, subagentRunId))
        break
      case 'tool-approval-response':
        this.#approvals.delete(chunk.toolCallId)
        break
      case 'tool-input-available':
        if (chunk.executor === 'client') this.#calls.set(chunk.toolCallId, callOf(chunk, subagentRunId))
        break
      case 'interrupt':
        this.#questions.set(chunk.interruptId, questionOf(chunk, subagentRunId))
        break
      case 'interrupt-response':
        this.#questions.delete(chunk.interruptId)
        break
      default:
        if (isToolResult(chunk)) this.drop(chunk.toolCallId)
    }
  }

  /** A call is settled, or was never made. */
  drop(toolCallId: string): void {
    this.#approvals.delete(toolCallId)
    this.#calls.delete(toolCallId)
  }

  /** The calls that are the client's to run. */
  get calls(): readonly AgUiInterrupt[] {
    return [...this.#calls].flatMap(([id, call]) => (this.#approvals.has(id) ? [] : [call]))
  }

  /** What people are asked. */
  get questions(): readonly AgUiInterrupt[] {
    return [...this.#approvals.values(), ...this.#questions.values()]
  }
}

function approvalOf(chunk: ChunkOf<'tool-approval-request'>, subagentRunId?: string): AgUiInterrupt {
  const { approvalId, toolCallId, toolName, input, deadline } = chunk
  return defined({
    id: `${APPROVAL}${approvalId}`,
    reason: 'tool_call',
    message: toolName === undefined ? undefined : `May ${toolName} run?`,
    toolCallId,
    responseSchema: APPROVAL_SCHEMA,
    expiresAt: timeOf(deadline),
    metadata: defined({ kind: 'approval', toolName, input }) as JsonObject,
    subagentRunId,
  })
}

function callOf(chunk: ChunkOf<'tool-input-available'>, subagentRunId?: string): AgUiInterrupt {
  const { toolCallId, toolName, input, deadline } = chunk
  return defined({
    id: `${CALL}${toolCallId}`,
    reason: 'client_tool',
    toolCallId,
    expiresAt: timeOf(deadline),
    metadata: { kind: 'client_tool', toolName, input },
    subagentRunId,
  })
}

function questionOf(chunk: ChunkOf<'interrupt'>, subagentRunId?: string): AgUiInterrupt {
  const { interruptId, input, deadline, meta } = chunk
  return defined({
    id: `${QUESTION}${interruptId}`,
    reason: 'input_required',
    message: input.question,
    responseSchema: schemaOf(input),
    expiresAt: timeOf(deadline),
    metadata: defined({ kind: 'question', question: input as unknown as Json, meta }) as JsonObject,
    subagentRunId,
  })
}

/** What an answer to a question looks like. */
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

/** What an interrupt may be called that an answer answers: as another's server has it, or as ours does. */
export const interruptIdsOf = ({ kind, id }: ClientAnswer): readonly string[] => [
  id,
  `${kind === 'approval' ? APPROVAL : kind === 'interrupt' ? QUESTION : CALL}${id}`,
]

/** What came of an interrupt, as a client says it. */
export interface AgUiResume {
  readonly interruptId: string
  readonly status: 'resolved' | 'cancelled'
  readonly payload?: unknown
}

/** What an answer to an interrupt answers; undefined where it answers nothing: a question that nobody wants to answer. */
export function answerOf({ interruptId, status, payload }: AgUiResume): ClientAnswer | undefined {
  const isCancelled = status === 'cancelled'
  if (interruptId.startsWith(APPROVAL)) {
    const id = approvalIdOf(interruptId)
    const { approved = payload, reason } = Object(payload) as { approved?: unknown; reason?: unknown }
    const why = typeof reason === 'string' ? { reason } : {}
    return { kind: 'approval', id, approved: !isCancelled && approved === true, ...why }
  }
  if (interruptId.startsWith(CALL)) {
    const id = interruptId.slice(CALL.length)
    if (isCancelled) return { kind: 'tool-result', id, error: 'The client did not run it.' }
    return { kind: 'tool-result', id, output: (payload ?? null) as Json }
  }
  if (isCancelled) return undefined
  return { kind: 'interrupt', id: questionIn(interruptId) ?? interruptId, response: (payload ?? null) as Json }
}

/** The question that an interrupt asks; undefined where it asks for something else. */
export const questionIn = (interruptId: string): string | undefined =>
  interruptId.startsWith(QUESTION) ? interruptId.slice(QUESTION.length) : undefined

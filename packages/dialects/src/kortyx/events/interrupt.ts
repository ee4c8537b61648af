// Kortyx has only interrupts. Approvals and client tool calls are sent as interrupts, too, and answered by a selection.

import type { ChunkOf, Json, JsonObject, Question } from '@millrace/protocol'
import type { ClientAnswer } from '../../dialect/client-request.ts'
import { jsonOrText } from '../../dialect/json-or-text.ts'
import type { InterruptChunk, InterruptInput } from '../types.ts'

/** A request that waits for a person. */
export type KortyxPending = {
  readonly id: string
  readonly agentId?: string
  readonly node?: string
} & (
  | { readonly kind: 'interrupt'; readonly chunk: ChunkOf<'interrupt'> }
  | {
      readonly kind: 'approval' | 'client-tool'
      readonly toolCallId: string
      readonly toolName: string
      readonly input: Json
    }
)

/** The option ids of an approval. */
const APPROVE = 'approve'
const DENY = 'deny'

/** The interrupt of a request. */
export function interruptOf(pending: KortyxPending, resumeToken: string): InterruptChunk {
  const { id: requestId, node } = pending
  const fields = { type: 'interrupt', requestId, resumeToken, ...(node !== undefined && { node }) } as const
  if (pending.kind === 'interrupt') {
    const { input, schemaId, schemaVersion, meta } = pending.chunk
    const interruptMeta = input.kind === 'form' ? { ...meta, schema: input.schema } : meta
    return {
      ...fields,
      id: requestId,
      ...(schemaId !== undefined && { schemaId }),
      ...(schemaVersion !== undefined && { schemaVersion }),
      ...(interruptMeta && { meta: interruptMeta }),
      input: inputOf(input),
    }
  }
  const { kind, toolCallId, toolName: tool, input } = pending
  const id = `tool:${toolCallId}`
  // The tool runs with the approved input, so the person has to see it.
  const meta: JsonObject = { kind, tool, toolCallId, input }
  const question: InterruptInput =
    kind === 'approval'
      ? {
          kind: 'choice',
          multiple: false,
          question: `Approve ${tool}?`,
          options: [
            { id: APPROVE, label: 'Approve' },
            { id: DENY, label: 'Deny' },
          ],
        }
      : { kind: 'text', multiple: false, question: `What does ${tool} give?` }
  return { ...fields, id, meta, input: question }
}

function inputOf(question: Question): InterruptInput {
  if (question.kind === 'choice' || question.kind === 'multi-choice') {
    const { kind, options, multiple = kind === 'multi-choice' } = question
    return { kind, multiple, question: question.question, options }
  }
  const { question: text } = question
  return { kind: 'text', multiple: false, ...(text !== undefined && { question: text }) }
}

/** The request that an answer is for. */
export type AnsweredRequest =
  | { readonly kind: 'interrupt'; readonly id: string; readonly input: Question }
  | { readonly kind: 'approval' | 'client-tool'; readonly id: string }

/**
 * The answer of a selection. Undefined if the selection does not answer the request: only a question with several
 * choices takes more than one value.
 */
export function answerFromSelection(request: AnsweredRequest, selected: readonly string[]): ClientAnswer | undefined {
  const { id } = request
  if (request.kind === 'interrupt') {
    const response = responseOf(request.input, selected)
    return response === undefined ? undefined : { kind: 'interrupt', id, response }
  }
  const value = onlyIn(selected)
  if (value === undefined) return undefined
  if (request.kind === 'client-tool') return { kind: 'tool-result', id, output: jsonOrText(value) }
  return value === APPROVE || value === DENY ? { kind: 'approval', id, approved: value === APPROVE } : undefined
}

function responseOf(question: Question, selected: readonly string[]): Json | undefined {
  if (question.kind === 'multi-choice' || (question.kind === 'choice' && question.multiple === true))
    return [...selected]
  const value = onlyIn(selected)
  return question.kind === 'form' && value !== undefined ? jsonOrText(value) : value
}

/** The value of a selection of one. Undefined for none and for several. */
const onlyIn = (selected: readonly string[]): string | undefined => (selected.length === 1 ? selected[0] : undefined)

/** The selection of an answer. Undefined if Kortyx cannot express the answer. @param isForm Whether the answer is to a form of ours. */
export function selectionOf(answer: ClientAnswer, isForm: boolean): readonly string[] | undefined {
  if (answer.kind === 'approval') return [answer.approved ? APPROVE : DENY]
  if (answer.kind === 'tool-result') return 'error' in answer ? undefined : [JSON.stringify(answer.output)]
  const { response } = answer
  if (isForm) return [JSON.stringify(response)]
  if (Array.isArray(response)) return response.map(item => (typeof item === 'string' ? item : JSON.stringify(item)))
  return [typeof response === 'string' ? response : JSON.stringify(response)]
}

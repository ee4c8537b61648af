// Kortyx asks people in one way alone, by interrupts. So whatever waits for somebody here is asked for by one, and answered by what was selected.

import type { ChunkOf, Json, JsonObject, Question } from '@millrace/protocol'
import type { ClientAnswer } from '../dialect/client-request.ts'
import type { InterruptChunk, InterruptInput } from './chunk.ts'

/** Something that waits for a person. */
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

/** The options of an approval. */
const APPROVE = 'approve'
const DENY = 'deny'

/** How a person is asked for what waits. */
export function interruptOf(waiting: KortyxPending, resumeToken: string): InterruptChunk {
  const { id: requestId, node } = waiting
  const about = { type: 'interrupt', requestId, resumeToken, ...(node !== undefined && { node }) } as const
  if (waiting.kind === 'interrupt') {
    const { input, schemaId, schemaVersion, meta } = waiting.chunk
    const said = input.kind === 'form' ? { ...meta, schema: input.schema } : meta
    return {
      ...about,
      id: requestId,
      ...(schemaId !== undefined && { schemaId }),
      ...(schemaVersion !== undefined && { schemaVersion }),
      ...(said && { meta: said }),
      input: inputOf(input),
    }
  }
  const { kind, toolCallId, toolName: tool, input } = waiting
  const id = `tool:${toolCallId}`
  // What is approved is what runs: whoever is asked sees it.
  const meta: JsonObject = { kind, tool, toolCallId, input }
  const asked: InterruptInput =
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
  return { ...about, id, meta, input: asked }
}

function inputOf(question: Question): InterruptInput {
  if (question.kind === 'choice' || question.kind === 'multi-choice') {
    const { kind, options, multiple = kind === 'multi-choice' } = question
    return { kind, multiple, question: question.question, options }
  }
  const { question: text } = question
  return { kind: 'text', multiple: false, ...(text !== undefined && { question: text }) }
}

/** What is known of something that waits, or waited, when somebody answers it. */
export type Answered =
  | { readonly kind: 'interrupt'; readonly id: string; readonly input: Question }
  | { readonly kind: 'approval' | 'client-tool'; readonly id: string }

/** What somebody's selection answers; undefined where it is no answer to that. */
export function answerOf(asked: Answered, selected: readonly string[]): ClientAnswer | undefined {
  const { id } = asked
  const [first] = selected
  switch (asked.kind) {
    case 'approval':
      return first === APPROVE || first === DENY ? { kind: 'approval', id, approved: first === APPROVE } : undefined
    case 'client-tool':
      return first === undefined ? undefined : { kind: 'tool-result', id, output: jsonIn(first) }
    default: {
      const response = responseOf(asked.input, selected)
      return response === undefined ? undefined : { kind: 'interrupt', id, response }
    }
  }
}

function responseOf(question: Question, selected: readonly string[]): Json | undefined {
  const [first] = selected
  if (question.kind === 'form') return first === undefined ? undefined : jsonIn(first)
  const isMany = question.kind === 'multi-choice' || (question.kind === 'choice' && question.multiple === true)
  return isMany ? [...selected] : first
}

/** What was written as JSON, or the words. */
function jsonIn(text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    return text
  }
}

/** What is selected to give an answer; undefined where Kortyx has no way to give it. */
export function selectedBy(answer: ClientAnswer): readonly string[] | undefined {
  if (answer.kind === 'approval') return [answer.approved ? APPROVE : DENY]
  if (answer.kind === 'tool-result') return 'error' in answer ? undefined : [JSON.stringify(answer.output)]
  const { response } = answer
  if (Array.isArray(response)) return response.map(item => (typeof item === 'string' ? item : JSON.stringify(item)))
  return [typeof response === 'string' ? response : JSON.stringify(response)]
}

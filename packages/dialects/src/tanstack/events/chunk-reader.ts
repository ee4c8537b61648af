import type { Chunk, ChunkOf, Json } from '@millrace/protocol'
import { isObject } from '@millrace/protocol/internal'
import { jsonOrText } from '../../dialect/json-or-text.ts'
import type { DoneStreamChunk, TanstackChunk } from '../types.ts'

/** The type of chunks that TanStack AI has no type for. */
export const EXTENSION = 'millrace'

/** Decodes chunks without their supplement. The encoder uses it, too, to find what the supplement has to hold. */
export class ChunkReader {
  #textId: string | undefined
  #texts = 0
  #reasoningId: string | undefined
  #reasonings = 0
  readonly #calls = new Set<string>()

  /** Decodes a chunk of TanStack AI without its supplement. */
  chunkOf(event: TanstackChunk): Chunk | undefined {
    switch (event.type) {
      case 'content':
        return { type: 'text-delta', id: this.#textId ?? `${event.id}/text-${this.#texts}`, delta: event.delta ?? '' }
      case 'thinking': {
        const id = this.#reasoningId ?? `${event.id}/thinking-${this.#reasonings}`
        return { type: 'reasoning-delta', id, delta: event.delta ?? '' }
      }
      case 'tool_call': {
        const { id, function: called } = event.toolCall
        return this.#calls.has(id)
          ? { type: 'tool-input-delta', toolCallId: id, delta: called.arguments }
          : { type: 'tool-input-start', toolCallId: id, toolName: called.name }
      }
      case 'tool_result':
        return resultOf(event.toolCallId, jsonOrText(event.content))
      case 'done':
        return finishOf(event)
      case 'error': {
        const { message, code } = event.error
        return code === undefined ? { type: 'error', message } : { type: 'error', message, code }
      }
      case 'approval-requested': {
        const { toolCallId, toolName, input, approval } = event
        return { type: 'tool-approval-request', toolCallId, toolName, approvalId: approval.id, input }
      }
      case 'tool-input-available': {
        const { type, toolCallId, toolName, input } = event
        return { type, toolCallId, toolName, input, executor: 'client' }
      }
      default:
        return undefined
    }
  }

  /** Updates the state after an event and its chunk. */
  follow(event: TanstackChunk, chunk: Chunk | undefined): void {
    if (event.type === 'tool_call') this.#calls.add(event.toolCall.id)
    if (event.type !== EXTENSION) {
      if (event.type !== 'content') this.#textId = undefined
      if (event.type !== 'thinking') this.#reasoningId = undefined
    }
    if (chunk?.type === 'text-start' || chunk?.type === 'text-delta') {
      if (this.#textId === undefined) this.#texts++
      this.#textId = chunk.id
    } else if (chunk?.type === 'reasoning-start' || chunk?.type === 'reasoning-delta') {
      if (this.#reasoningId === undefined) this.#reasonings++
      this.#reasoningId = chunk.id
    }
  }
}

/** Decodes an output. An output in the form of an error is an error. */
export function resultOf(toolCallId: string, output: Json): Chunk {
  const errorText = failureIn(output)
  return errorText === undefined
    ? { type: 'tool-output-available', toolCallId, output }
    : { type: 'tool-output-error', toolCallId, errorText }
}

function failureIn(output: Json): string | undefined {
  if (!isObject(output)) return undefined
  const { error } = output
  return typeof error === 'string' && Object.keys(output).length === 1 ? error : undefined
}

const REASONS: ReadonlyMap<unknown, ChunkOf<'step-finish'>['finishReason'] & string> = new Map([
  ['stop', 'stop'],
  ['length', 'length'],
  ['content_filter', 'content-filter'],
  ['tool_calls', 'tool-calls'],
] as const)

function finishOf({ finishReason, usage }: DoneStreamChunk): ChunkOf<'step-finish'> {
  const reason = REASONS.get(finishReason)
  return {
    type: 'step-finish',
    ...(reason && { finishReason: reason }),
    ...(usage && {
      usage: {
        inputTokens: usage.promptTokens,
        outputTokens: usage.completionTokens,
        totalTokens: usage.totalTokens,
      },
    }),
  }
}

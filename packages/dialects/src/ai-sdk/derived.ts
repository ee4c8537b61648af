// Events that stand for no chunk of their own, and yet have to be said to clients.

import type { Chunk } from '@millrace/protocol'
import type { Supplement } from '../dialect/supplement.ts'
import type { UIMessageChunk } from './chunk.ts'
import { EXTENSION } from './extension.ts'

/** An event that stands for no chunk of its own. */
export const derived = (event: UIMessageChunk): UIMessageChunk => ({ ...event, millrace: null satisfies Supplement })

/** The input of a call, so that clients do not take it for one that is theirs to run. */
export function streamedInput({ input, ...call }: UIMessageChunk & { type: 'tool-input-available' }): UIMessageChunk[] {
  const { toolCallId } = call
  return [
    derived({ ...call, type: 'tool-input-start' }),
    derived({ type: 'tool-input-delta', toolCallId, inputTextDelta: JSON.stringify(input) }),
  ]
}

/** The outcome of a call that its run's end has left open. */
export const unanswered = (toolCallId: string) =>
  ({ type: 'tool-output-error', toolCallId, errorText: 'The run ended before this call did.' }) as const

/** What says that what a chunk asks for will not come. */
export function unansweredBy(chunk: Chunk): Chunk | undefined {
  switch (chunk.type) {
    case 'interrupt':
      return { type: 'interrupt-response', interruptId: chunk.interruptId, response: null }
    case 'tool-approval-request':
    case 'tool-input-available':
      return unanswered(chunk.toolCallId)
    default:
      return undefined
  }
}

/** Whether an event says how a call or a question was answered, or what came of it. */
export const isAnswer = ({ type }: UIMessageChunk): boolean =>
  type === 'tool-approval-response' || type.startsWith('tool-output-') || type === EXTENSION

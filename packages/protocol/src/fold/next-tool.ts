// The life of a tool call: forward only. A chunk that does not fit returns undefined, and the fold reports and drops it (law 9).

import type { Chunk, Executor } from '../catalogue/chunk.ts'
import type { JsonObject } from '../json/json.ts'
import { blobsOf, pick } from './fields.ts'
import type { PartBase, ToolPart } from './view.ts'

type Opening = {
  toolName?: string
  executor?: Executor
  title?: string
  dynamic?: boolean
  providerMetadata?: JsonObject
}

export const isSettled = (part: ToolPart): boolean => part.state.startsWith('output-')

export type ToolChunk = Extract<Chunk, { toolCallId: string; type: `tool-${string}` }>

/** What a chunk that opens or completes a call says of it. */
const described = (part: ToolPart, chunk: Opening): ToolPart => ({
  ...part,
  ...pick(chunk, 'toolName', 'executor', 'title', 'providerMetadata'),
  ...(chunk.dynamic && { type: 'dynamic-tool' }),
})

/** A call with its outcome, which ends what was on the way to it. */
function settled(part: ToolPart, outcome: Partial<ToolPart>): ToolPart {
  const { inputText, progress, claim, blobs, ...rest } = part
  // Of the large values only those of the input are still there: the output that was one was progress.
  return { ...rest, ...blobsOf(part, pointer => !pointer.startsWith('/output')), ...outcome }
}

/** A call that its run's end left open. */
export const interrupted = (part: ToolPart): ToolPart =>
  settled(part, { state: 'output-error', errorText: 'The run ended before this call did.', code: 'interrupted' })

/** The call after a chunk, or undefined where the chunk does not fit it. `part` is undefined for a call not seen before. */
export function nextTool(part: ToolPart | undefined, chunk: ToolChunk, base: PartBase): ToolPart | undefined {
  const { toolCallId } = chunk
  const call: ToolPart = part ?? { type: 'tool', ...base, toolCallId, toolName: '', state: 'input-streaming' }
  const { state, approval } = call
  const isInput = chunk.type.startsWith('tool-input-')
  if (isSettled(call) || (isInput ? state !== 'input-streaming' : !part)) return undefined
  switch (chunk.type) {
    case 'tool-input-start':
      return part ? undefined : described(call, chunk)
    case 'tool-input-delta':
      return call
    case 'tool-input-available': {
      const { inputText, ...rest } = described(call, chunk)
      return { ...rest, state: 'input-available', input: chunk.input, ...pick(chunk, 'deadline') }
    }
    case 'tool-input-error': {
      const { partialInput: input } = chunk
      return settled(call, {
        state: 'output-error',
        ...pick(chunk, 'toolName', 'errorText'),
        ...(input !== undefined && { input }),
      })
    }
    case 'tool-approval-request':
      if (state !== 'input-available') return undefined
      // What is shown is what will run: the input of the request is the input of the call from here on.
      return {
        ...call,
        state: 'approval-requested',
        input: chunk.input,
        approval: { id: chunk.approvalId, ...pick(chunk, 'isAutomatic', 'deadline') },
      }
    case 'tool-approval-response':
      if (state !== 'approval-requested' || approval?.id !== chunk.approvalId) return undefined
      return {
        ...call,
        state: 'approval-responded',
        approval: { ...approval, ...pick(chunk, 'approved', 'reason', 'isAutomatic') },
      }
    case 'tool-claimed':
      if (state === 'input-streaming' || call.executor !== 'client') return undefined
      return { ...call, claim: pick(chunk, 'until', 'by') }
    case 'tool-output-available':
      if (state !== 'input-available' && !approval?.approved) return undefined
      if (chunk.preliminary) return { ...call, progress: chunk.output }
      return settled(call, { state: 'output-available', ...pick(chunk, 'output', 'providerMetadata') })
    case 'tool-output-error':
      return settled(call, { state: 'output-error', ...pick(chunk, 'errorText', 'code') })
    case 'tool-output-denied':
      if (state === 'input-streaming' || approval?.approved) return undefined
      return settled(call, {
        state: 'output-denied',
        ...(approval && { approval: { ...approval, approved: false, ...pick(chunk, 'reason') } }),
      })
  }
}

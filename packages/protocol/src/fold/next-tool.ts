// The state machine of a tool call. It returns undefined for an invalid transition, and the fold reports and drops the chunk (law 9).

import type { Chunk, Executor } from '../catalogue/chunk.ts'
import type { JsonObject } from '../json/json.ts'
import { blobsOf, pick } from './fields.ts'
import type { PartBase, ToolPart } from './view.ts'

type CallHeader = {
  toolName?: string
  executor?: Executor
  title?: string
  dynamic?: boolean
  providerMetadata?: JsonObject
}

export const isSettled = (part: ToolPart): boolean => part.state.startsWith('output-')

export type ToolChunk = Extract<Chunk, { toolCallId: string; type: `tool-${string}` }>

/** Applies the header fields of a chunk that opens a call or completes its input. */
const withHeader = (part: ToolPart, chunk: CallHeader): ToolPart => ({
  ...part,
  ...pick(chunk, 'toolName', 'executor', 'title', 'providerMetadata'),
  ...(chunk.dynamic && { type: 'dynamic-tool' }),
})

/** A call with its outcome, without progress, claim and input text. */
function settled(part: ToolPart, outcome: Partial<ToolPart>): ToolPart {
  const { inputText, progress, claim, blobs, ...rest } = part
  // Only the blobs of the input are kept. The others belonged to the progress.
  return { ...rest, ...blobsOf(part, pointer => !pointer.startsWith('/output')), ...outcome }
}

/** A call that was still open when its run ended. */
export const interrupted = (part: ToolPart): ToolPart =>
  settled(part, { state: 'output-error', errorText: 'The run ended before this call did.', code: 'interrupted' })

/** The call after a chunk, or undefined for an invalid transition. `part` is undefined for a new call. */
export function nextTool(part: ToolPart | undefined, chunk: ToolChunk, base: PartBase): ToolPart | undefined {
  const { toolCallId } = chunk
  const call: ToolPart = part ?? { type: 'tool', ...base, toolCallId, toolName: '', state: 'input-streaming' }
  const { state, approval } = call
  const isInput = chunk.type.startsWith('tool-input-')
  if (isSettled(call) || (isInput ? state !== 'input-streaming' : !part)) return undefined
  switch (chunk.type) {
    case 'tool-input-start':
      return part ? undefined : withHeader(call, chunk)
    case 'tool-input-delta':
      return call
    case 'tool-input-available': {
      const { inputText, ...rest } = withHeader(call, chunk)
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
      // The call runs with the input that the approval request showed.
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

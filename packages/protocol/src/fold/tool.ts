// The life of a tool call: forward only. A chunk that does not fit returns undefined, and the fold reports and drops it (law 9).

import type { Chunk, Executor } from '../catalogue/chunk.ts'
import type { JsonObject } from '../json/value.ts'
import { pick } from './body.ts'
import type { PartBase, ToolPart, ToolState } from './view.ts'

const RANK: { readonly [State in ToolState]: number } = {
  'input-streaming': 0,
  'input-available': 1,
  'approval-requested': 2,
  'approval-responded': 3,
  'output-available': 4,
  'output-error': 4,
  'output-denied': 4,
}

type Opening = {
  toolName?: string
  executor?: Executor
  title?: string
  dynamic?: boolean
  providerMetadata?: JsonObject
}

export const isSettled = (part: ToolPart): boolean => RANK[part.state] === 4

export type ToolChunk = Extract<Chunk, { toolCallId: string; type: `tool-${string}` }>

/** What a chunk that opens or completes a call says of it. */
const described = (part: ToolPart, chunk: Opening): ToolPart => ({
  ...part,
  ...pick(chunk, 'toolName', 'executor', 'title', 'providerMetadata'),
  ...(chunk.dynamic && { type: 'dynamic-tool' }),
})

function settled(part: ToolPart, outcome: Pick<ToolPart, 'state' | 'output' | 'errorText' | 'code'>): ToolPart {
  const { inputText, progress, claim, ...rest } = part
  return { ...rest, ...outcome }
}

/** A call that its run's end left open. */
export const interrupted = (part: ToolPart): ToolPart =>
  settled(part, { state: 'output-error', errorText: 'The run ended before this call did.', code: 'interrupted' })

/** The call after a chunk, or undefined where the chunk does not fit it. `part` is undefined for a call not seen before. */
export function nextTool(part: ToolPart | undefined, chunk: ToolChunk, base: PartBase): ToolPart | undefined {
  const { toolCallId } = chunk
  const rank = part ? RANK[part.state] : -1
  const call: ToolPart =
    part && !base.blobs ? part : { type: 'tool', toolName: '', state: 'input-streaming', ...part, ...base, toolCallId }
  const approved = call.approval?.approved
  switch (chunk.type) {
    case 'tool-input-start':
      return part ? undefined : described(call, chunk)
    case 'tool-input-delta':
      return rank < 1 ? call : undefined
    case 'tool-input-available': {
      if (rank > 0) return undefined
      const { inputText, ...rest } = described(call, chunk)
      return { ...rest, state: 'input-available', input: chunk.input }
    }
    case 'tool-input-error': {
      if (rank > 0) return undefined
      const { partialInput: input = call.input, errorText } = chunk
      return settled(
        { ...described(call, chunk), ...(input !== undefined && { input }) },
        { state: 'output-error', errorText },
      )
    }
    case 'tool-approval-request':
      if (rank !== 1) return undefined
      // What is shown is what will run: the input of the request is the input of the call from here on.
      return {
        ...call,
        state: 'approval-requested',
        input: chunk.input,
        approval: { id: chunk.approvalId, ...pick(chunk, 'isAutomatic', 'deadline') },
      }
    case 'tool-approval-response':
      if (rank !== 2 || call.approval?.id !== chunk.approvalId) return undefined
      return {
        ...call,
        state: 'approval-responded',
        approval: { ...call.approval, approved: chunk.approved, ...pick(chunk, 'reason', 'isAutomatic') },
      }
    case 'tool-claimed':
      if (rank < 1 || rank > 3 || call.executor !== 'client') return undefined
      return { ...call, claim: { until: chunk.until, ...pick(chunk, 'by') } }
    case 'tool-output-available':
      if (rank !== 1 && !(rank === 3 && approved)) return undefined
      if (chunk.preliminary) return { ...call, progress: chunk.output }
      return {
        ...settled(call, { state: 'output-available', output: chunk.output }),
        ...pick(chunk, 'providerMetadata'),
      }
    case 'tool-output-error':
      if (rank < 0 || rank > 3) return undefined
      return settled(call, { state: 'output-error', errorText: chunk.errorText, ...pick(chunk, 'code') })
    case 'tool-output-denied':
      if (rank < 1 || rank > 3 || approved) return undefined
      return {
        ...settled(call, { state: 'output-denied' }),
        ...(call.approval && { approval: { ...call.approval, approved: false, ...pick(chunk, 'reason') } }),
      }
  }
}

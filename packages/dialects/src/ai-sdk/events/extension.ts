import type { DecodedChunk } from '../../dialect/dialect.ts'
import { isOfSubAgent } from '../../dialect/lane.ts'
import type { UIMessageChunk } from '../types.ts'

/** The type of data parts for chunks that the AI SDK has no type for. `data` holds the chunk, and its origin if it is from a sub-agent. */
export const EXTENSION = 'data-millrace'

/** The data of an extension part. */
export type AiSdkExtension = Pick<DecodedChunk, 'chunk' | 'origin'>

/**
 * Wraps a chunk that the AI SDK has no type for. With an id the message keeps the last part of that id; without one the part is transient, for
 * `onData` only.
 */
export function extension({ chunk, origin }: AiSdkExtension, partId?: string): UIMessageChunk {
  const data: AiSdkExtension = { chunk, ...(origin && { origin }) }
  return partId === undefined ? { type: EXTENSION, data, transient: true } : { type: EXTENSION, id: partId, data }
}

/**
 * The id of the part in which a message keeps a chunk: a chunk to show later or to answer. Undefined if the message does not keep it. A chunk that
 * ends another one replaces it in its part.
 */
export function partIdOf(
  { chunk, origin }: AiSdkExtension,
  keptParts: ReadonlyMap<string, unknown>,
): string | undefined {
  const idIfKept = (partId: string): string | undefined => (keptParts.has(partId) ? partId : undefined)
  switch (chunk.type) {
    case 'interrupt':
      return interruptPartId(chunk.interruptId)
    case 'interrupt-response':
      return idIfKept(interruptPartId(chunk.interruptId))
    case 'structured-data':
      return chunk.kind === 'final' ? structuredPartId(chunk.streamId) : undefined
    case 'structured-data-invalidated':
      return idIfKept(structuredPartId(chunk.streamId))
    case 'tool-approval-request':
      return isOfSubAgent(origin) ? approvalPartId(chunk.approvalId) : undefined
    case 'tool-approval-response':
      return idIfKept(approvalPartId(chunk.approvalId))
    case 'tool-input-available':
      return isOfSubAgent(origin) && chunk.executor === 'client' ? callPartId(chunk.toolCallId) : undefined
    case 'tool-output-available':
    case 'tool-output-error':
    case 'tool-output-denied':
      return idIfKept(callPartId(chunk.toolCallId))
    default:
      return undefined
  }
}

export const interruptPartId = (interruptId: string): string => `interrupt:${interruptId}`
export const structuredPartId = (streamId: string): string => `structured:${streamId}`
export const approvalPartId = (approvalId: string): string => `approval:${approvalId}`
export const callPartId = (toolCallId: string): string => `call:${toolCallId}`

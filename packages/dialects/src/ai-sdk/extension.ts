import type { Origin } from '@millrace/protocol'
import type { DecodedChunk } from '../dialect/dialect.ts'
import type { UIMessageChunk } from './chunk.ts'

/** The type under which goes what the AI SDK has no chunk for: `data` is the chunk, and whose it is where it is a sub-agent's. */
export const EXTENSION = 'data-millrace'

/** What an extension holds. */
export type AiSdkExtension = Pick<DecodedChunk, 'chunk' | 'origin'>

/** A chunk that the AI SDK has nothing for: kept in its message under a name, the last of each, or only heard by `onData`. */
export function extension({ chunk, origin }: AiSdkExtension, name?: string): UIMessageChunk {
  const data: AiSdkExtension = { chunk, ...(origin && { origin }) }
  return name === undefined ? { type: EXTENSION, data, transient: true } : { type: EXTENSION, id: name, data }
}

/** Whether an origin is that of a sub-agent, whose words are not of the message. */
export const isChild = (origin: Origin | undefined): boolean =>
  origin !== undefined && origin.guest === undefined && origin.agentId !== origin.runId

/**
 * Under which name a message keeps a chunk: what a page is to show later, or has to know of to answer it. Undefined where it does not. What only ends something is
 * kept in its place.
 */
export function nameOf({ chunk, origin }: AiSdkExtension, kept: ReadonlyMap<string, unknown>): string | undefined {
  const ifKept = (name: string): string | undefined => (kept.has(name) ? name : undefined)
  switch (chunk.type) {
    case 'interrupt':
      return interruptName(chunk.interruptId)
    case 'interrupt-response':
      return ifKept(interruptName(chunk.interruptId))
    case 'structured-data':
      return chunk.kind === 'final' ? structuredName(chunk.streamId) : undefined
    case 'structured-data-invalidated':
      return ifKept(structuredName(chunk.streamId))
    case 'tool-approval-request':
      return isChild(origin) ? approvalName(chunk.approvalId) : undefined
    case 'tool-approval-response':
      return ifKept(approvalName(chunk.approvalId))
    case 'tool-input-available':
      return isChild(origin) && chunk.executor === 'client' ? callName(chunk.toolCallId) : undefined
    case 'tool-output-available':
    case 'tool-output-error':
    case 'tool-output-denied':
      return ifKept(callName(chunk.toolCallId))
    default:
      return undefined
  }
}

/** The names of what is kept. */
export const interruptName = (interruptId: string): string => `interrupt:${interruptId}`
export const structuredName = (streamId: string): string => `structured:${streamId}`
export const approvalName = (approvalId: string): string => `approval:${approvalId}`
export const callName = (toolCallId: string): string => `call:${toolCallId}`

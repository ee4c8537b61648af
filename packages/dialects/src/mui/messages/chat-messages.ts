// Converts messages of a view to the format of MUI X Chat.

import type { Chunk, Message, Part, StructuredObject, ToolPart, View } from '@millrace/protocol'
import { extensionIdOf } from '../events/chunk-to-event.ts'
import { EXTENSION, type MuiExtension } from '../events/mui-event.ts'
import type { ChatMessage, ChatMessagePart, ChatToolInvocation } from '../types.ts'

const identity = (id: string): string => id

function invocationOf(part: ToolPart, nameOf: (id: string) => string): ChatToolInvocation {
  const { state, input, output, progress, errorText, approval, title, executor, providerMetadata } = part
  const toolCallId = nameOf(part.toolCallId)
  const approvalId = approval && nameOf(approval.id)
  const isPreliminary = progress !== undefined && !state.startsWith('output-')
  return {
    toolCallId,
    toolName: part.toolName,
    state: isPreliminary ? 'output-available' : state,
    ...(input !== undefined && { input }),
    ...(output !== undefined && { output }),
    ...(isPreliminary && { output: progress, preliminary: true }),
    ...(errorText !== undefined && { errorText }),
    ...(approval?.approved !== undefined && {
      approval: {
        approved: approval.approved,
        ...(approval.reason !== undefined && { reason: approval.reason }),
      },
    }),
    ...(approvalId !== undefined && approvalId !== toolCallId && { approvalId }),
    ...(executor === 'provider' && { providerExecuted: true }),
    ...(title !== undefined && { title }),
    ...(providerMetadata && { callProviderMetadata: providerMetadata }),
  }
}

/** Converts a part. `nameOf` maps a call id to the id that clients have. */
export function chatPartOf(part: Part, nameOf: (id: string) => string = identity): ChatMessagePart {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return { type: part.type, text: part.text, state: part.state }
    case 'tool':
    case 'dynamic-tool':
      return { type: part.type, toolInvocation: invocationOf(part, nameOf) }
    case 'step-start':
      return { type: 'step-start' }
    default: {
      const { key, at, blobs, ...rest } = part
      return rest as ChatMessagePart
    }
  }
}

/** A part with its key and its position in the log. */
export interface PositionedPart {
  readonly key: string
  readonly at: number
  readonly part: ChatMessagePart
  /** Set on a text or reasoning part that is still streamed. */
  readonly open?: { readonly type: 'text' | 'reasoning'; readonly id: string }
}

/** The parts of a message, merged with its extension parts in log order. */
export function positionedPartsOf(message: Message, extensionParts: readonly PositionedPart[]): PositionedPart[] {
  const parts = message.parts.map((part): PositionedPart => {
    const { key, at } = part
    const positioned = { key, at, part: chatPartOf(part) }
    const isOpen = (part.type === 'text' || part.type === 'reasoning') && part.state === 'streaming'
    return isOpen ? { ...positioned, open: { type: part.type, id: part.id } } : positioned
  })
  return extensionParts.length === 0 ? parts : [...parts, ...extensionParts].sort((a, b) => a.at - b.at)
}

/** Converts a message. */
export function chatMessageOf(message: Message, parts: readonly PositionedPart[]): ChatMessage {
  const { id, role, status, createdAt, metadata } = message
  return {
    id,
    role,
    status,
    parts: parts.map(({ part }) => part),
    ...(createdAt > 0 && { createdAt: new Date(createdAt).toISOString() }),
    ...(metadata && { metadata }),
  }
}

type MessageContext = Pick<View, 'messages' | 'interrupts' | 'structured'>

/** The extension parts of a message: interrupts and their responses, approval requests of sub-agents, and complete structured objects. */
export function extensionPartsOf(
  { messages, interrupts, structured }: MessageContext,
  { runId, at, id }: Message,
): PositionedPart[] {
  if (runId === undefined) return []
  const extensionParts: PositionedPart[] = []
  for (const { at, status, response, interruptId, runId: otherRunId, lane, agentId, ...interrupt } of interrupts) {
    if (otherRunId !== runId) continue
    extensionParts.push(positioned(at, { type: 'interrupt', interruptId, ...interrupt }))
    if (status === 'answered')
      extensionParts.push(positioned(at, { type: 'interrupt-response', interruptId, response: response ?? null }))
  }
  for (const { parent, parts, runId: otherRunId } of messages) {
    if (parent === undefined || otherRunId !== runId) continue
    for (const part of parts)
      if ('toolCallId' in part && part.approval) extensionParts.push(positioned(part.at, requestOf(part)))
  }
  const next = messages.find(message => message.at > at && message.id !== id && message.parent === undefined)
  for (const object of structured) {
    if (object.status !== 'done' || object.at < at || (next && object.at > next.at)) continue
    extensionParts.push(positioned(object.at, finalOf(object)))
  }
  return extensionParts
}

function requestOf({ toolCallId, toolName, input = null, approval }: ToolPart): Chunk {
  return { type: 'tool-approval-request', toolCallId, toolName, approvalId: approval?.id ?? toolCallId, input }
}

function finalOf({ at, status, ...object }: StructuredObject): Chunk {
  return { type: 'structured-data', kind: 'final', ...object }
}

function positioned(at: number, chunk: Chunk): PositionedPart {
  const id = extensionIdOf(chunk, true) as string
  return { key: id, at, part: { type: EXTENSION, id, data: { chunk } satisfies MuiExtension } }
}

/** The messages of a view, without those of sub-agents. */
export function chatMessagesOf(view: MessageContext): ChatMessage[] {
  return view.messages
    .filter(({ parent }) => parent === undefined)
    .map(message => chatMessageOf(message, positionedPartsOf(message, extensionPartsOf(view, message))))
}

// Messages of the view in the shape of MUI X Chat.

import type { Chunk, Message, Part, StructuredObject, ToolPart, View } from '@millrace/protocol'
import { EXTENSION, keptAs, type MuiExtension } from './chunk.ts'
import type { ChatMessage, ChatMessagePart, ChatToolInvocation } from './types.ts'

const same = (id: string): string => id

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

/** A part in the shape of MUI X Chat; `nameOf` says what it calls a call. */
export function chatPartOf(part: Part, nameOf: (id: string) => string = same): ChatMessagePart {
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

/** A part with its name in the message, and its place. */
export interface PlacedPart {
  readonly key: string
  readonly at: number
  readonly part: ChatMessagePart
  /** Where it is a text or a reasoning to which more may come. */
  readonly open?: { readonly type: 'text' | 'reasoning'; readonly id: string }
}

/** The parts of a message, and between them what belongs to it and is no part of it here. */
export function placedParts(message: Message, kept: readonly PlacedPart[]): PlacedPart[] {
  const parts = message.parts.map((part): PlacedPart => {
    const { key, at } = part
    const placed = { key, at, part: chatPartOf(part) }
    const isOpen = (part.type === 'text' || part.type === 'reasoning') && part.state === 'streaming'
    return isOpen ? { ...placed, open: { type: part.type, id: part.id } } : placed
  })
  return kept.length === 0 ? parts : [...parts, ...kept].sort((a, b) => a.at - b.at)
}

/** A message in the shape of MUI X Chat. */
export function chatMessageOf(message: Message, parts: readonly PlacedPart[]): ChatMessage {
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

/** What belongs to a message of a run and is no part of it here: questions and their answers, what sub-agents ask to be approved, and structured objects that are done. */
export function keptOf({ messages, interrupts, structured }: MessageContext, { runId, at, id }: Message): PlacedPart[] {
  if (runId === undefined) return []
  const kept: PlacedPart[] = []
  for (const { at, status, response, interruptId, runId: own, lane, agentId, ...asked } of interrupts) {
    if (own !== runId) continue
    kept.push(placed(at, { type: 'interrupt', interruptId, ...asked }))
    if (status === 'answered')
      kept.push(placed(at, { type: 'interrupt-response', interruptId, response: response ?? null }))
  }
  for (const { parent, parts, runId: own } of messages) {
    if (parent === undefined || own !== runId) continue
    for (const part of parts) if ('toolCallId' in part && part.approval) kept.push(placed(part.at, requestOf(part)))
  }
  const next = messages.find(message => message.at > at && message.id !== id && message.parent === undefined)
  for (const object of structured) {
    if (object.status !== 'done' || object.at < at || (next && object.at > next.at)) continue
    kept.push(placed(object.at, finalOf(object)))
  }
  return kept
}

function requestOf({ toolCallId, toolName, input = null, approval }: ToolPart): Chunk {
  return { type: 'tool-approval-request', toolCallId, toolName, approvalId: approval?.id ?? toolCallId, input }
}

function finalOf({ at, status, ...object }: StructuredObject): Chunk {
  return { type: 'structured-data', kind: 'final', ...object }
}

function placed(at: number, chunk: Chunk): PlacedPart {
  const id = keptAs(chunk, true) as string
  return { key: id, at, part: { type: EXTENSION, id, data: { chunk } satisfies MuiExtension } }
}

/** The messages of a view that a page shows: what sub-agents said is not among them. */
export function chatMessagesOf(view: MessageContext): ChatMessage[] {
  return view.messages
    .filter(({ parent }) => parent === undefined)
    .map(message => chatMessageOf(message, placedParts(message, keptOf(view, message))))
}

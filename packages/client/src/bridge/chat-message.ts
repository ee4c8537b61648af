// Converts messages of the view to the adapter's format, and back.

import { newId } from '@millrace/dialects'
import { chatPartOf, foreignId } from '@millrace/dialects/internal'
import { type Message, messageIdOf, type Part, type Run, type View } from '@millrace/protocol'
import {
  type ChatMessage,
  type ChatMessagePart,
  type ChatToolInvocation,
  type ChatUser,
  jsonObjectOf,
  jsonOf,
} from './types.ts'

/** A message of a chat over an adapter, with the author that the adapter names. */
export interface AuthoredMessage extends Message {
  readonly author?: ChatUser
}

const convertedMessages = new WeakMap<Message, ChatMessage>()
const convertedParts = new WeakMap<Part, ChatMessagePart>()
/** All results of `toChatMessage`. */
const ownMessages = new WeakSet<ChatMessage>()

/** A message in the adapter's format. Equal messages and parts give identical objects. */
export function toChatMessage(message: Message): ChatMessage {
  const converted = convertedMessages.get(message)
  if (converted) return converted
  const { id, role, status, createdAt, metadata, author } = message as AuthoredMessage
  const chatMessage: ChatMessage = {
    id,
    role,
    status,
    parts: message.parts.map(part => {
      const chatPart = convertedParts.get(part) ?? chatPartOf(part, foreignId)
      convertedParts.set(part, chatPart)
      return chatPart
    }),
    ...(createdAt > 0 && { createdAt: new Date(createdAt).toISOString() }),
    ...(metadata && { metadata }),
    ...(author && { author }),
  }
  convertedMessages.set(message, chatMessage)
  ownMessages.add(chatMessage)
  return chatMessage
}

/** Whether `toChatMessage` made a message: it is a state of a message of a chat, current or earlier. */
export const isOwnMessage = (message: ChatMessage): boolean => ownMessages.has(message)

/** A part in the format of the fold. */
function partOf(part: ChatMessagePart, key: string, at: number, callIdOf: (id: string) => string): Part {
  if (part.type === 'text' || part.type === 'reasoning') {
    const { type, text } = part as { type: 'text' | 'reasoning'; text: string }
    return { type, key, at, id: key, text, state: 'done' }
  }
  if (part.type !== 'tool' && part.type !== 'dynamic-tool') return { ...part, key, at } as Part
  const { toolInvocation: call } = part as { toolInvocation: ChatToolInvocation }
  const { toolName, state, input, output, errorText, approval, approvalId = call.toolCallId, title } = call
  const needsApproval = approval !== undefined || state.startsWith('approval-')
  const toolCallId = callIdOf(call.toolCallId)
  return {
    type: part.type,
    key: `tool:${toolCallId}`,
    at,
    toolCallId,
    toolName,
    state: call.preliminary ? 'input-available' : state,
    ...(input !== undefined && { input: jsonOf(input) }),
    ...(output !== undefined && { [call.preliminary ? 'progress' : 'output']: jsonOf(output) }),
    ...(errorText !== undefined && { errorText }),
    ...(needsApproval && { approval: { id: approvalId, ...approval } }),
    ...(title !== undefined && { title }),
  }
}

/** Messages in the format of the fold, each reply with a run of its own. */
export interface FoldedMessages {
  readonly messages: readonly Message[]
  readonly runs: readonly Run[]
  /** In the same order: the adapter's id, which the view shows, and fields that the fold does not have. */
  readonly overrides: readonly { readonly id: string; readonly patch: Partial<AuthoredMessage> }[]
}

/** Converts an adapter's messages to the format of the fold, at positions before `before`. */
export function foldedMessagesOf(
  chatMessages: readonly ChatMessage[],
  before: number,
  callIdOf: (id: string, runId: string) => string,
): FoldedMessages {
  let at = before - chatMessages.reduce((count, { parts }) => count + parts.length + 1, 0)
  const messages: Message[] = []
  const runs: Run[] = []
  const overrides: { id: string; patch: Partial<AuthoredMessage> }[] = []
  for (const { id, role, parts, status = 'sent', createdAt, metadata, author } of chatMessages) {
    const runId = newId()
    const isReply = role === 'assistant'
    const position = at++
    const time = createdAt === undefined ? 0 : Date.parse(createdAt) || 0
    messages.push({
      // A reply gets the id of an agent's message, so that a later stream can continue it.
      id: isReply ? messageIdOf(runId, runId) : id.includes('::') ? runId : id,
      role,
      status: 'sent',
      at: position,
      metaAt: position,
      createdAt: time,
      parts: parts.map((part, i) => partOf(part, `#${i}`, at++, id => callIdOf(id, runId))),
      ...(metadata && { metadata: jsonObjectOf(metadata) }),
      ...(isReply && { runId, agentId: runId, agentType: 'assistant' }),
    })
    if (isReply) runs.push({ runId, status: 'running', at: position, startedAt: time, usage: {}, discarded: {} })
    overrides.push({ id, patch: { status, ...(author && { author }) } })
  }
  return { messages, runs, overrides }
}

/** A view with only some of its messages, and their runs and drafts. */
export function withOnly(view: View, messages: readonly Message[]): View {
  const ids = new Set(messages.map(({ id }) => id))
  const removedRuns = new Set(
    view.messages.flatMap(({ id, runId }) => (ids.has(id) || runId === undefined ? [] : [runId])),
  )
  return {
    ...view,
    messages,
    runs: view.runs.filter(({ runId }) => !removedRuns.has(runId)),
    drafts: view.drafts.flatMap(draft => {
      const undo = draft.undo.filter(change => !('message' in change) || ids.has(change.message))
      return undo.length > 0 ? [{ ...draft, undo }] : []
    }),
  }
}

/** A view with one message moved behind all others. */
export function withLast(view: View, { id }: Message): View {
  const rest = view.messages.filter(message => message.id !== id)
  const moved = view.messages.filter(message => message.id === id)
  let head = view.head
  const last = moved.map(message => {
    const at = ++head
    return { ...message, at, metaAt: at, parts: message.parts.map(part => ({ ...part, at: ++head })) }
  })
  return { ...view, head, messages: [...rest, ...last] }
}

/** A view with one part replaced. */
export const withPart = (view: View, messageId: string, part: Part): View => ({
  ...view,
  messages: view.messages.map(message =>
    message.id === messageId
      ? { ...message, parts: message.parts.map(old => (old.key === part.key ? part : old)) }
      : message,
  ),
  drafts: view.drafts.flatMap(draft => {
    const undo = draft.undo.filter(
      change => !('message' in change && change.message === messageId && change.key === part.key),
    )
    return undo.length > 0 ? [{ ...draft, undo }] : []
  }),
})

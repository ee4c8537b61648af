// Messages of the view in the shape that adapters know, and the other way round.

import { newId } from '@millrace/dialects'
import { foreignId } from '@millrace/dialects/internal'
import { chatPartOf } from '@millrace/dialects/mui'
import { type Message, messageIdOf, type Part, type Run, type View } from '@millrace/protocol'
import {
  type ChatMessage,
  type ChatMessagePart,
  type ChatToolInvocation,
  type ChatUser,
  jsonObjectOf,
  jsonOf,
} from './types.ts'

/** A message of a chat over an adapter: who speaks is the adapter's to say. */
export interface AuthoredMessage extends Message {
  readonly author?: ChatUser
}

const messages = new WeakMap<Message, ChatMessage>()
const shapes = new WeakSet<ChatMessage>()
const parts = new WeakMap<Part, ChatMessagePart>()

/** A message in the shape that adapters know; the same object for the same message, and for each part that stays the same. */
export function toChatMessage(message: Message): ChatMessage {
  const known = messages.get(message)
  if (known) return known
  const { id, role, status, createdAt, metadata, author } = message as AuthoredMessage
  const shaped: ChatMessage = {
    id,
    role,
    status,
    parts: message.parts.map(part => {
      const shape = parts.get(part) ?? chatPartOf(part, foreignId)
      parts.set(part, shape)
      return shape
    }),
    ...(createdAt > 0 && { createdAt: new Date(createdAt).toISOString() }),
    ...(metadata && { metadata }),
    ...(author && { author }),
  }
  messages.set(message, shaped)
  shapes.add(shaped)
  return shaped
}

/** Whether it says what a message of a chat said at some time, and nothing of its own. */
export const isShape = (message: ChatMessage): boolean => shapes.has(message)

/** The part that a shape tells of, as the fold has parts. */
function partOf(part: ChatMessagePart, key: string, at: number, callIdOf: (id: string) => string): Part {
  if (part.type === 'text' || part.type === 'reasoning') {
    const { type, text } = part as { type: 'text' | 'reasoning'; text: string }
    return { type, key, at, id: key, text, state: 'done' }
  }
  if (part.type !== 'tool' && part.type !== 'dynamic-tool') return { ...part, key, at } as Part
  const { toolInvocation: call } = part as { toolInvocation: ChatToolInvocation }
  const { toolName, state, input, output, errorText, approval, approvalId = call.toolCallId, title } = call
  const isAsked = approval !== undefined || state.startsWith('approval-')
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
    ...(isAsked && { approval: { id: approvalId, ...approval } }),
    ...(title !== undefined && { title }),
  }
}

/** Messages as the fold has them, each reply with a run of its own, and under which ids they are to be shown. */
export interface FoldedMessages {
  readonly messages: readonly Message[]
  readonly runs: readonly Run[]
  /** What is shown, in the same order: an id, and what the fold cannot know. */
  readonly shown: readonly { readonly id: string; readonly patch: Partial<AuthoredMessage> }[]
}

/** What an adapter tells of messages, as the fold has it; `before` is the first place that is taken. */
export function foldedMessagesOf(
  given: readonly ChatMessage[],
  before: number,
  callIdOf: (id: string, by: string) => string,
): FoldedMessages {
  let at = before - given.reduce((count, { parts }) => count + parts.length + 1, 0)
  const messages: Message[] = []
  const runs: Run[] = []
  const shown: { id: string; patch: Partial<AuthoredMessage> }[] = []
  for (const { id, role, parts, status = 'sent', createdAt, metadata, author } of given) {
    const runId = newId()
    const isReply = role === 'assistant'
    const place = at++
    const time = createdAt === undefined ? 0 : Date.parse(createdAt) || 0
    messages.push({
      // Replies are an agent's in a run, so that a later stream may go on with one.
      id: isReply ? messageIdOf(runId, runId) : id.includes('::') ? runId : id,
      role,
      status: 'sent',
      at: place,
      metaAt: place,
      createdAt: time,
      parts: parts.map((part, i) => partOf(part, `#${i}`, at++, id => callIdOf(id, runId))),
      ...(metadata && { metadata: jsonObjectOf(metadata) }),
      ...(isReply && { runId, agentId: runId, agentType: 'assistant' }),
    })
    if (isReply) runs.push({ runId, status: 'running', at: place, startedAt: time, usage: {}, discarded: {} })
    shown.push({ id, patch: { status, ...(author && { author }) } })
  }
  return { messages, runs, shown }
}

/** A view with just some of its messages, and what belongs to them. */
export function withOnly(view: View, messages: readonly Message[]): View {
  const ids = new Set(messages.map(({ id }) => id))
  const gone = new Set(view.messages.flatMap(({ id, runId }) => (ids.has(id) || runId === undefined ? [] : [runId])))
  return {
    ...view,
    messages,
    runs: view.runs.filter(({ runId }) => !gone.has(runId)),
    drafts: view.drafts.flatMap(draft => {
      const undo = draft.undo.filter(one => !('message' in one) || ids.has(one.message))
      return undo.length > 0 ? [{ ...draft, undo }] : []
    }),
  }
}

/** A view in which one message stands behind all others. */
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

/** A view in which one part stands otherwise. */
export const withPart = (view: View, messageId: string, part: Part): View => ({
  ...view,
  messages: view.messages.map(message =>
    message.id === messageId
      ? { ...message, parts: message.parts.map(old => (old.key === part.key ? part : old)) }
      : message,
  ),
  drafts: view.drafts.flatMap(draft => {
    const undo = draft.undo.filter(one => !('message' in one && one.message === messageId && one.key === part.key))
    return undo.length > 0 ? [{ ...draft, undo }] : []
  }),
})

// Compares a messages snapshot of a foreign server with the parts that it streamed. Some servers send a reply only as a snapshot, and some retract streamed
// content by it.

import type { Chunk, MessageChunk } from '@millrace/protocol'
import { jsonOrText } from '../../dialect/json-or-text.ts'
import { expectArray } from '../../dialect/validate.ts'
import { inputOf, outputOf, textOf } from '../events/event-to-chunk.ts'
import type { AgUiContent, AgUiMessage } from '../types.ts'

/** A part of a reply: a text, a reasoning, a tool call or the result of one. */
export type ReplyPart =
  | { readonly kind: 'text' | 'reasoning'; readonly id: string; readonly text: string }
  | { readonly kind: 'call'; readonly id: string; readonly name: string; readonly text: string }
  | { readonly kind: 'result'; readonly id: string; readonly text: string; readonly error?: string }

/** A part that was streamed so far. */
interface StreamedPart {
  readonly kind: ReplyPart['kind']
  readonly id: string
  name: string
  text: string
}

/** The parts of a reply that were streamed so far. */
export class StreamedParts {
  readonly #parts = new Map<string, StreamedPart>()
  /** Cache: most deltas continue the part of the delta before. */
  #last: StreamedPart | undefined

  get parts(): ReplyPart[] {
    return [...this.#parts.values()].filter(({ kind, text }) => text !== '' || kind === 'call' || kind === 'result')
  }

  clear(): void {
    this.#parts.clear()
    this.#last = undefined
  }

  track(chunk: Chunk): void {
    switch (chunk.type) {
      case 'text-delta':
      case 'reasoning-delta':
        this.#part(chunk.type === 'text-delta' ? 'text' : 'reasoning', chunk.id).text += chunk.delta
        break
      case 'tool-input-start':
        this.#part('call', chunk.toolCallId).name = chunk.toolName
        break
      case 'tool-input-available':
        Object.assign(this.#part('call', chunk.toolCallId), { name: chunk.toolName, text: textOf(chunk.input) })
        break
      case 'tool-output-available':
        this.#part('result', chunk.toolCallId).text = textOf(chunk.output)
        break
      case 'tool-output-error':
        this.#part('result', chunk.toolCallId).text = chunk.errorText
        break
      default:
    }
  }

  #part(kind: ReplyPart['kind'], id: string): StreamedPart {
    if (this.#last?.id === id && this.#last.kind === kind) return this.#last
    const key = `${kind} ${id}`
    const found = this.#parts.get(key) ?? { kind, id, name: '', text: '' }
    this.#parts.set(key, found)
    this.#last = found
    return found
  }
}

/** The new content of a snapshot. */
export interface SnapshotDiff {
  /** Earlier messages that the client did not know. */
  readonly history: readonly AgUiMessage[]
  /** Whether streamed content was changed or removed. All parts are emitted again then. */
  readonly retractsAll: boolean
  readonly parts: readonly ReplyPart[]
}

/** Finds the parts of the current reply that were not streamed, and the earlier messages if the request had none of them. */
export function diffSnapshot(
  messages: readonly AgUiMessage[],
  posted: readonly AgUiMessage[],
  streamed: readonly ReplyPart[],
): SnapshotDiff {
  const snapshot = readableMessages(messages)
  const requestIndex = posted.findLastIndex(({ role }) => role === 'user')
  const at = indexOfRequest(snapshot, posted[requestIndex])
  const postedReply = posted.slice(requestIndex + 1)
  const parts = replyPartsOf(snapshot.slice(at + 1).filter(message => !postedReply.some(one => isSame(one, message))))
  const isFirst = requestIndex >= 0 && !posted.slice(0, requestIndex).some(isConversation)
  const history = isFirst ? snapshot.slice(0, Math.max(0, at)).filter(isConversation) : []
  return { history, ...newPartsOf(parts, streamed) }
}

/** The valid messages of the run's own agent. */
function readableMessages(messages: unknown): AgUiMessage[] {
  const all = expectArray(messages, 'event MESSAGES_SNAPSHOT.messages') as readonly AgUiMessage[]
  return all.filter(message => {
    const { id, role, content, toolCalls = [], toolCallId, subagentRunId } = Object(message)
    if (typeof id !== 'string' || typeof role !== 'string' || subagentRunId !== undefined) return false
    if (role === 'tool' && typeof toolCallId !== 'string') return false
    if (role === 'assistant' && !(Array.isArray(toolCalls) && toolCalls.every(isCall))) return false
    return content === undefined || content === null || typeof content === 'string' || Array.isArray(content)
  })
}

const isCall = (call: unknown): boolean => {
  const { id, function: called } = Object(call)
  const { name, arguments: text } = Object(called)
  return [id, name, text].every(one => typeof one === 'string')
}

const isConversation = ({ role }: AgUiMessage): boolean => role !== 'system' && role !== 'developer'

/** The index of the message that is being replied to. The length if the snapshot only has messages before it. */
function indexOfRequest(snapshot: readonly AgUiMessage[], request: AgUiMessage | undefined): number {
  const last = snapshot.findLastIndex(({ role }) => role === 'user')
  if (!request || last < 0) return last
  const at = snapshot.findLastIndex(message => isSame(request, message))
  return at < 0 ? snapshot.length : at
}

/** Whether two messages are the same, even if their ids differ. */
function isSame(one: AgUiMessage, other: AgUiMessage): boolean {
  if (one.role !== other.role) return false
  if (one.id === other.id) return true
  if (one.role === 'tool') return one.toolCallId === (other as typeof one).toolCallId
  if (one.role === 'assistant' && one.toolCalls?.length) {
    const { toolCalls = [] } = other as typeof one
    return one.toolCalls.some(({ id }) => toolCalls.some(call => call.id === id))
  }
  return textIn(one.content) === textIn(other.content)
}

/** The parts of messages, in order. */
function replyPartsOf(messages: readonly AgUiMessage[]): ReplyPart[] {
  return messages.flatMap((message): ReplyPart[] => {
    const { id } = message
    switch (message.role) {
      case 'reasoning':
        return message.content ? [{ kind: 'reasoning', id, text: textIn(message.content) }] : []
      case 'tool': {
        const { toolCallId, content, error } = message
        return [{ kind: 'result', id: toolCallId, text: textIn(content), ...(error !== undefined && { error }) }]
      }
      case 'assistant': {
        const { toolCalls = [] } = message
        const text = textIn(message.content)
        const calls = toolCalls.map(
          ({ id, function: { name, arguments: text } }): ReplyPart => ({ kind: 'call', id, name, text }),
        )
        return text === '' ? calls : [{ kind: 'text', id, text }, ...calls]
      }
      default:
        return []
    }
  })
}

/** The text of a content. Servers may send null for none. */
const textIn = (content: string | readonly AgUiContent[] | null | undefined): string =>
  typeof content === 'string' ? content : content ? JSON.stringify(content) : ''

/** The parts that were not streamed, or all of them if streamed parts are missing from the snapshot or out of order. */
function newPartsOf(
  parts: readonly ReplyPart[],
  streamed: readonly ReplyPart[],
): Pick<SnapshotDiff, 'retractsAll' | 'parts'> {
  // A snapshot of only the request does not retract the reply.
  if (!parts.some(({ kind }) => kind !== 'result'))
    return { retractsAll: false, parts: parts.filter(one => !includesPart(streamed, one)) }
  const newParts = parts.filter(one => !includesPart(streamed, one))
  const missing = streamed.filter(one => one.kind !== 'result' && !includesPart(parts, one))
  // Clients keep their reasoning if a snapshot has none.
  const keepsReasoning = !parts.some(({ kind }) => kind === 'reasoning')
  const isRetracted = missing.some(({ kind }) => kind !== 'reasoning' || !keepsReasoning)
  const first = parts.findIndex(one => one.kind !== 'result' && newParts.includes(one))
  const isOutOfOrder = first >= 0 && parts.slice(first).some(one => one.kind !== 'result' && !newParts.includes(one))
  if (!isRetracted && !isOutOfOrder) return { retractsAll: false, parts: newParts }
  return {
    retractsAll: true,
    parts: keepsReasoning ? [...streamed.filter(({ kind }) => kind === 'reasoning'), ...parts] : parts,
  }
}

const includesPart = (parts: readonly ReplyPart[], one: ReplyPart): boolean =>
  parts.some(other => isSamePart(one, other))

function isSamePart(one: ReplyPart, other: ReplyPart): boolean {
  if (one.kind !== other.kind) return false
  if (one.kind === 'text' || one.kind === 'reasoning') return one.text === other.text
  return one.id === other.id && normalizedText(one) === normalizedText(other)
}

const normalizedText = ({ text, kind }: ReplyPart): string =>
  JSON.stringify(kind === 'call' ? inputOf(text) : jsonOrText(text))

/** The chunks of a part. */
export function chunksOf(part: ReplyPart): Chunk[] {
  const { kind, id, text } = part
  switch (kind) {
    case 'text':
    case 'reasoning':
      return [
        { type: `${kind}-start`, id },
        { type: `${kind}-delta`, id, delta: text },
        { type: `${kind}-end`, id },
      ]
    case 'call':
      return [
        {
          type: 'tool-input-available',
          toolCallId: id,
          toolName: part.name,
          input: inputOf(text),
        },
      ]
    case 'result':
      return part.error === undefined
        ? [{ type: 'tool-output-available', toolCallId: id, output: outputOf(text) }]
        : [{ type: 'tool-output-error', toolCallId: id, errorText: part.error }]
  }
}

/** The chunks of earlier messages. */
export function historyChunksOf(messages: readonly AgUiMessage[]): Chunk[] {
  return messages.flatMap((message): Chunk[] => {
    if (message.role !== 'user') return replyPartsOf([message]).flatMap(chunksOf)
    const { id: messageId, role, content } = message
    return [{ type: 'message', messageId, role, parts: partsOf(content) }]
  })
}

function partsOf(content: string | readonly AgUiContent[]): MessageChunk['parts'] {
  if (!Array.isArray(content)) return [{ type: 'text', text: textIn(content) }]
  return content.map(part => {
    if (part.type === 'text') return { type: 'text', text: part.text }
    const { type, value, mimeType } = part.source
    const mediaType = mimeType ?? 'application/octet-stream'
    return { type: 'file', url: type === 'data' ? `data:${mediaType};base64,${value}` : value, mediaType }
  }) as MessageChunk['parts']
}

// Compares a messages snapshot of a foreign server with its streamed events. Some servers send a reply only as a snapshot, and some retract streamed
// content by it.

import type { Chunk, MessageChunk } from '@millrace/protocol'
import { expectArray } from '../../dialect/validate.ts'
import { jsonOf, outputOf, textOf } from '../events/event-to-chunk.ts'
import type { AgUiContent, AgUiMessage } from '../types.ts'

/** A text, a reasoning, a call or a result in a message. */
export type Fact =
  | { readonly kind: 'text' | 'reasoning'; readonly id: string; readonly text: string }
  | { readonly kind: 'call'; readonly id: string; readonly name: string; readonly text: string }
  | { readonly kind: 'result'; readonly id: string; readonly text: string; readonly error?: string }

interface FollowedFact {
  readonly kind: Fact['kind']
  readonly id: string
  name: string
  text: string
}

/** The facts that were streamed so far. */
export class ReceivedFacts {
  readonly #facts = new Map<string, FollowedFact>()
  /** Cache: most deltas continue the part of the delta before. */
  #last: FollowedFact | undefined

  get facts(): Fact[] {
    return [...this.#facts.values()].filter(({ kind, text }) => text !== '' || kind === 'call' || kind === 'result')
  }

  clear(): void {
    this.#facts.clear()
    this.#last = undefined
  }

  track(chunk: Chunk): void {
    switch (chunk.type) {
      case 'text-delta':
      case 'reasoning-delta':
        this.#at(chunk.type === 'text-delta' ? 'text' : 'reasoning', chunk.id).text += chunk.delta
        break
      case 'tool-input-start':
        this.#at('call', chunk.toolCallId).name = chunk.toolName
        break
      case 'tool-input-available':
        Object.assign(this.#at('call', chunk.toolCallId), { name: chunk.toolName, text: textOf(chunk.input) })
        break
      case 'tool-output-available':
        this.#at('result', chunk.toolCallId).text = textOf(chunk.output)
        break
      case 'tool-output-error':
        this.#at('result', chunk.toolCallId).text = chunk.errorText
        break
      default:
    }
  }

  #at(kind: Fact['kind'], id: string): FollowedFact {
    if (this.#last?.id === id && this.#last.kind === kind) return this.#last
    const key = `${kind} ${id}`
    const found = this.#facts.get(key) ?? { kind, id, name: '', text: '' }
    this.#facts.set(key, found)
    this.#last = found
    return found
  }
}

/** The new content of a snapshot. */
export interface SnapshotDiff {
  /** Earlier messages that the client did not know. */
  readonly history: readonly AgUiMessage[]
  /** Whether streamed content was changed or removed. All facts are emitted again then. */
  readonly retractsAll: boolean
  readonly facts: readonly Fact[]
}

/** Finds the facts of the current reply that were not streamed, and the earlier messages if the request had none of them. */
export function diffSnapshot(
  messages: readonly AgUiMessage[],
  posted: readonly AgUiMessage[],
  received: readonly Fact[],
): SnapshotDiff {
  const snapshot = readableMessages(messages)
  const requestIndex = posted.findLastIndex(({ role }) => role === 'user')
  const at = indexOfRequest(snapshot, posted[requestIndex])
  const known = posted.slice(requestIndex + 1)
  const facts = factsOf(snapshot.slice(at + 1).filter(message => !known.some(one => isSame(one, message))))
  const isFirst = requestIndex >= 0 && !posted.slice(0, requestIndex).some(isConversation)
  const history = isFirst ? snapshot.slice(0, Math.max(0, at)).filter(isConversation) : []
  return { history, ...newFactsOf(facts, received) }
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

/** The facts of messages, in order. */
function factsOf(messages: readonly AgUiMessage[]): Fact[] {
  return messages.flatMap((message): Fact[] => {
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
          ({ id, function: { name, arguments: text } }): Fact => ({ kind: 'call', id, name, text }),
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

/** The facts that were not streamed, or all of them if streamed facts are missing or out of order. */
function newFactsOf(facts: readonly Fact[], received: readonly Fact[]): Pick<SnapshotDiff, 'retractsAll' | 'facts'> {
  // A snapshot of only the request does not retract the reply.
  if (!facts.some(({ kind }) => kind !== 'result'))
    return { retractsAll: false, facts: facts.filter(one => !includesFact(received, one)) }
  const newFacts = facts.filter(one => !includesFact(received, one))
  const missing = received.filter(one => one.kind !== 'result' && !includesFact(facts, one))
  // Clients keep their reasoning if a snapshot has none.
  const keepsReasoning = !facts.some(({ kind }) => kind === 'reasoning')
  const isRetracted = missing.some(({ kind }) => kind !== 'reasoning' || !keepsReasoning)
  const first = facts.findIndex(one => one.kind !== 'result' && newFacts.includes(one))
  const isOutOfOrder = first >= 0 && facts.slice(first).some(one => one.kind !== 'result' && !newFacts.includes(one))
  if (!isRetracted && !isOutOfOrder) return { retractsAll: false, facts: newFacts }
  return {
    retractsAll: true,
    facts: keepsReasoning ? [...received.filter(({ kind }) => kind === 'reasoning'), ...facts] : facts,
  }
}

const includesFact = (facts: readonly Fact[], one: Fact): boolean => facts.some(other => isSameFact(one, other))

function isSameFact(one: Fact, other: Fact): boolean {
  if (one.kind !== other.kind) return false
  if (one.kind === 'text' || one.kind === 'reasoning') return one.text === other.text
  return one.id === other.id && normalizedText(one) === normalizedText(other)
}

const normalizedText = ({ text, kind }: Fact): string =>
  JSON.stringify(text === '' && kind === 'call' ? {} : jsonOf(text))

/** The chunks of a fact. */
export function chunksOf(fact: Fact): Chunk[] {
  const { kind, id, text } = fact
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
        { type: 'tool-input-available', toolCallId: id, toolName: fact.name, input: text === '' ? {} : jsonOf(text) },
      ]
    case 'result':
      return fact.error === undefined
        ? [{ type: 'tool-output-available', toolCallId: id, output: outputOf(text) }]
        : [{ type: 'tool-output-error', toolCallId: id, errorText: fact.error }]
  }
}

/** The chunks of earlier messages. */
export function historyChunksOf(messages: readonly AgUiMessage[]): Chunk[] {
  return messages.flatMap((message): Chunk[] => {
    if (message.role !== 'user') return factsOf([message]).flatMap(chunksOf)
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

// What a snapshot of another server's messages says beyond what it streamed. Some say an answer in no other way; some take back by it what they streamed.

import type { Chunk, MessageChunk } from '@millrace/protocol'
import { expectArray } from '../dialect/validate.ts'
import type { AgUiContent, AgUiMessage } from './event.ts'
import { jsonOf, outputOf, textOf } from './event-to-chunk.ts'

/** One thing that messages say. */
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

/** What was heard of a reply so far. */
export class ReceivedFacts {
  readonly #facts = new Map<string, FollowedFact>()
  /** Most deltas go on with what the one before went on with. */
  #last: FollowedFact | undefined

  get facts(): Fact[] {
    return [...this.#facts.values()].filter(({ kind, text }) => text !== '' || kind === 'call' || kind === 'result')
  }

  /** Nothing of it holds. */
  forget(): void {
    this.#facts.clear()
    this.#last = undefined
  }

  follow(chunk: Chunk): void {
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

/** What is news of a snapshot. */
export interface SnapshotDiff {
  /** What was there before, of which the client knew nothing. */
  readonly past: readonly AgUiMessage[]
  /** Whether what was streamed does not hold as it was: then all is told. */
  readonly retractsAll: boolean
  readonly facts: readonly Fact[]
}

/** Finds what a snapshot says of the answer to the last that was asked that was not heard, and what went before, if nothing of it was posted. */
export function diffSnapshot(
  messages: readonly AgUiMessage[],
  posted: readonly AgUiMessage[],
  heard: readonly Fact[],
): SnapshotDiff {
  const said = readableMessages(messages)
  const askedAt = posted.findLastIndex(({ role }) => role === 'user')
  const at = placeOf(said, posted[askedAt])
  const known = posted.slice(askedAt + 1)
  const facts = factsOf(said.slice(at + 1).filter(message => !known.some(one => isSame(one, message))))
  const isFirst = askedAt >= 0 && !posted.slice(0, askedAt).some(isTalk)
  const past = isFirst ? said.slice(0, Math.max(0, at)).filter(isTalk) : []
  return { past, ...added(facts, heard) }
}

/** The messages of the run's own that can be read. */
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

const isTalk = ({ role }: AgUiMessage): boolean => role !== 'system' && role !== 'developer'

/** Where the message stands that is answered; the end, where only what was before it is told. */
function placeOf(said: readonly AgUiMessage[], asked: AgUiMessage | undefined): number {
  const last = said.findLastIndex(({ role }) => role === 'user')
  if (!asked || last < 0) return last
  const at = said.findLastIndex(message => isSame(asked, message))
  return at < 0 ? said.length : at
}

/** Whether a message is the same as another, by whatever name. */
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

/** What messages say, in their order. */
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

/** What a content says; servers may say null for none. */
const textIn = (content: string | readonly AgUiContent[] | null | undefined): string =>
  typeof content === 'string' ? content : content ? JSON.stringify(content) : ''

/** What there is besides what was heard, where that still holds. */
function added(facts: readonly Fact[], heard: readonly Fact[]): Pick<SnapshotDiff, 'retractsAll' | 'facts'> {
  // A server that tells only of what it was asked has not taken its answer back.
  if (!facts.some(({ kind }) => kind !== 'result'))
    return { retractsAll: false, facts: facts.filter(one => !isIn(heard, one)) }
  const news = facts.filter(one => !isIn(heard, one))
  const gone = heard.filter(one => one.kind !== 'result' && !isIn(facts, one))
  // Clients keep the reasonings that they have where they are told of none.
  const keepsThoughts = !facts.some(({ kind }) => kind === 'reasoning')
  const isLost = gone.some(({ kind }) => kind !== 'reasoning' || !keepsThoughts)
  const first = facts.findIndex(one => one.kind !== 'result' && news.includes(one))
  const isBetween = first >= 0 && facts.slice(first).some(one => one.kind !== 'result' && !news.includes(one))
  if (!isLost && !isBetween) return { retractsAll: false, facts: news }
  return {
    retractsAll: true,
    facts: keepsThoughts ? [...heard.filter(({ kind }) => kind === 'reasoning'), ...facts] : facts,
  }
}

const isIn = (facts: readonly Fact[], one: Fact): boolean => facts.some(other => isAlike(one, other))

function isAlike(one: Fact, other: Fact): boolean {
  if (one.kind !== other.kind) return false
  if (one.kind === 'text' || one.kind === 'reasoning') return one.text === other.text
  return one.id === other.id && plainOf(one) === plainOf(other)
}

const plainOf = ({ text, kind }: Fact): string => JSON.stringify(text === '' && kind === 'call' ? {} : jsonOf(text))

/** A fact as an agent says it. */
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

/** What people said as they say it, and what agents did. */
export function pastChunksOf(messages: readonly AgUiMessage[]): Chunk[] {
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

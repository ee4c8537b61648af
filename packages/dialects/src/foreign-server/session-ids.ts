// Foreign servers reuse ids: some number their texts from 0 in every step and their calls in every run. In a view, a part's id is unique in its message, and the
// id of a call or an interrupt is unique in its session.

import type { Chunk, Message, MessageChunk, Part } from '@millrace/protocol'
import type { ClientAnswer } from '../dialect/client-request.ts'
import { distinctId, foreignId } from '../dialect/distinct-id.ts'

/** The ids of a session, over all of its runs. */
export class SessionIds {
  /** Ids of calls and interrupts that are in use. */
  readonly usedIds = new Set<string>()
  /** The foreign ids of messages that have another id here. */
  readonly messages = new Map<string, string>()

  /** A user message with an id that is valid here: only ids of agents' messages contain `::`. */
  userMessage(message: MessageChunk): MessageChunk {
    const messageId = message.messageId.replaceAll('::', ':')
    if (messageId === message.messageId) return message
    this.messages.set(messageId, message.messageId)
    return { ...message, messageId }
  }

  /** Messages with the server's own ids of calls. */
  foreignMessages(messages: readonly Message[]): readonly Message[] {
    return messages.map(message =>
      message.parts.some(isRenamed) ? { ...message, parts: message.parts.map(foreignPart) } : message,
    )
  }

  /** An answer with the server's own id. */
  foreignAnswer(answer: ClientAnswer): ClientAnswer {
    return { ...answer, id: foreignId(answer.id) }
  }
}

const isRenamed = (part: Part): boolean => 'toolCallId' in part && part.toolCallId !== foreignId(part.toolCallId)

const foreignPart = (part: Part): Part =>
  'toolCallId' in part && isRenamed(part) ? { ...part, toolCallId: foreignId(part.toolCallId) } : part

/** The ids of one run: gives its chunks ids that are unique here. */
export class RunIds {
  readonly #runId: string
  readonly #usedIds: Set<string>
  /** Calls and interrupts, by their foreign ids. */
  readonly #calls = new Map<string, string>()
  /** Open texts, by their foreign ids, and all that ever were open. */
  readonly #texts = new Map<string, string>()
  readonly #used = new Set<string>()

  constructor(runId: string, { usedIds }: SessionIds) {
    this.#runId = runId
    this.#usedIds = usedIds
  }

  /** A chunk of an agent of the run, with unique ids. */
  withUniqueIds(chunk: Chunk, agentId: string): Chunk {
    if ('toolCallId' in chunk && typeof chunk.toolCallId === 'string') return this.#call(chunk, 'toolCallId')
    if (chunk.type === 'interrupt' || chunk.type === 'interrupt-response') return this.#call(chunk, 'interruptId')
    const text = /^(text|reasoning)-(start|delta|end)$/.exec(chunk.type)
    return text ? this.#text(chunk as Chunk & { id: string }, `${agentId} ${text[1]}`, text[2] as string) : chunk
  }

  #call(chunk: Chunk, field: 'toolCallId' | 'interruptId'): Chunk {
    const foreign = (chunk as { [K in typeof field]?: string })[field] as string
    let uniqueId = this.#calls.get(foreign)
    if (uniqueId === undefined) {
      uniqueId = this.#usedIds.has(foreign) ? distinctId(foreign, this.#runId) : foreign
      this.#calls.set(foreign, uniqueId)
      this.#usedIds.add(uniqueId)
    }
    return uniqueId === foreign ? chunk : { ...chunk, [field]: uniqueId }
  }

  #text(chunk: Chunk & { id: string }, kind: string, verb: string): Chunk {
    const { id } = chunk
    const key = `${kind} ${id}`
    let uniqueId = this.#texts.get(key)
    // An id that is used again after its text has ended names a new text.
    if (uniqueId === undefined || verb === 'start') {
      uniqueId = this.#used.has(key) ? distinctId(id, this.#used.size) : id
      this.#used.add(`${kind} ${uniqueId}`)
      this.#texts.set(key, uniqueId)
    }
    if (verb === 'end') this.#texts.delete(key)
    return uniqueId === id ? chunk : ({ ...chunk, id: uniqueId } as Chunk)
  }
}

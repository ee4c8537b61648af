// What a peer calls things, and what they are called here. A peer counts its texts from 0 in every step and its calls as it likes; here a part has one name in its message and
// a call or a question one in its session.

import type { Chunk, Message, Part } from '@millrace/protocol'
import type { ClientAnswer } from '../dialect/client-request.ts'

/** What belongs to a session, over all of its runs. */
export class SessionIds {
  /** Calls and questions that are taken, as they are called here. */
  readonly taken = new Set<string>()
  /** What the peer calls those that go by another name here. */
  readonly foreign = new Map<string, string>()
  /** What the peer calls messages. */
  readonly messages = new Map<string, string>()

  /** Messages as the peer knows them. */
  told(messages: readonly Message[]): readonly Message[] {
    if (this.foreign.size === 0) return messages
    return messages.map(message =>
      message.parts.some(part => this.#isRenamed(part))
        ? { ...message, parts: message.parts.map(part => (this.#isRenamed(part) ? this.#told(part) : part)) }
        : message,
    )
  }

  #isRenamed(part: Part): boolean {
    return 'toolCallId' in part && this.foreign.has(part.toolCallId)
  }

  #told(part: Part): Part {
    const { toolCallId } = part as { toolCallId: string }
    return { ...part, toolCallId: this.foreign.get(toolCallId) as string } as Part
  }

  answer(answer: ClientAnswer): ClientAnswer {
    return { ...answer, id: this.foreign.get(answer.id) ?? answer.id }
  }
}

/** What belongs to one run: its chunks under the names that they have here. */
export class RunIds {
  readonly #runId: string
  readonly #names: SessionIds
  readonly #calls = new Map<string, string>()
  /** Texts that are open, under the names that they have here, and all that ever were. */
  readonly #texts = new Map<string, string>()
  readonly #used = new Set<string>()
  /** The number that comes next for a text of a name that is used. */
  readonly #next = new Map<string, number>()

  constructor(runId: string, names: SessionIds) {
    this.#runId = runId
    this.#names = names
  }

  /** A chunk of an agent of the run. */
  own(chunk: Chunk, agentId: string): Chunk {
    if ('toolCallId' in chunk && typeof chunk.toolCallId === 'string') return this.#named(chunk, 'toolCallId')
    if (chunk.type === 'interrupt' || chunk.type === 'interrupt-response') return this.#named(chunk, 'interruptId')
    const text = /^(text|reasoning)-(start|delta|end)$/.exec(chunk.type)
    return text ? this.#text(chunk as Chunk & { id: string }, `${agentId} ${text[1]}`, text[2] as string) : chunk
  }

  #named(chunk: Chunk, field: 'toolCallId' | 'interruptId'): Chunk {
    const foreign = (chunk as { [K in typeof field]?: string })[field] as string
    const { taken, foreign: renamed } = this.#names
    let own = this.#calls.get(foreign)
    if (own === undefined) {
      own = taken.has(foreign) ? `${foreign}~${this.#runId}` : foreign
      this.#calls.set(foreign, own)
      taken.add(own)
      if (own !== foreign) renamed.set(own, foreign)
    }
    return own === foreign ? chunk : { ...chunk, [field]: own }
  }

  #text(chunk: Chunk & { id: string }, kind: string, verb: string): Chunk {
    const { id } = chunk
    const key = `${kind} ${id}`
    let own = this.#texts.get(key)
    // A text that has ended does not go on: under the same name it is another.
    if (own === undefined || verb === 'start') {
      own = this.#unused(kind, id)
      this.#texts.set(key, own)
    }
    if (verb === 'end') this.#texts.delete(key)
    return own === id ? chunk : ({ ...chunk, id: own } as Chunk)
  }

  #unused(kind: string, id: string): string {
    const key = `${kind} ${id}`
    let own = id
    let n = this.#next.get(key) ?? 2
    // The peer itself may have given a name with a number.
    while (this.#used.has(`${kind} ${own}`)) own = `${id}~${n++}`
    this.#next.set(key, n)
    this.#used.add(`${kind} ${own}`)
    return own
  }
}

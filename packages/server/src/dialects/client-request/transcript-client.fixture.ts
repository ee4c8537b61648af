// A client that sends its transcript whole or in part, with or without ids, and has not seen the messages of other clients.
// `Model` is the expected log, with rules that are independent of the implementation.

import type { ClientRequest } from '@millrace/dialects'
import { user } from '../dialect-server.fixture.ts'

export interface ShownMessage {
  readonly id: string
  readonly text: string
  /** The answer to it that the client has seen. */
  answer?: string
}

/** The messages that one tab shows. */
export class Tab {
  messages: ShownMessage[] = []
  readonly #hasIds: boolean
  readonly #window: number

  constructor(hasIds: boolean, window: number) {
    this.#hasIds = hasIds
    this.#window = window
  }

  /** The request up to the last shown message. */
  posted(more: Partial<ClientRequest> = {}): ClientRequest {
    const shown = this.messages.slice(-this.#window)
    const userMessages = shown.map(({ id, text }) => user(text, this.#hasIds ? id : undefined))
    return { userMessages, endsWithUserMessage: true, answers: [], ...more }
  }
}

/** The expected result of a request: a new run, the run of an earlier request, or a refusal. */
export type Outcome = 'new' | 'same' | 'refused'

/** The expected user messages of the log, and all requests. */
export class Model {
  messages: ShownMessage[] = []
  runs = 0
  readonly #requested = new Set<string>()

  /** The expected result of a request with ids. */
  send({ userMessages }: ClientRequest): Outcome {
    const last = userMessages.at(-1) as { id: string; parts: readonly { text: string }[] }
    const message = { id: last.id, text: last.parts[0]?.text ?? '' }
    const ids = this.messages.map(({ id }) => id)
    const ownIndex = ids.indexOf(message.id)
    const isOfSession = userMessages.length === 1 || userMessages.some(({ id }) => ids.includes(id ?? ''))
    if (ownIndex >= 0 && this.messages[ownIndex]?.text === message.text) return 'same'
    if (this.#requested.has(JSON.stringify(message))) return 'refused'
    if (ownIndex < 0 && ids.length > 0 && !isOfSession) return 'refused'
    this.#requested.add(JSON.stringify(message))
    // Only a message with a known id is replaced.
    this.messages = [...(ownIndex < 0 ? this.messages : this.messages.slice(0, ownIndex)), message]
    this.runs++
    return 'new'
  }

  /** The expected result of a regeneration, by the id of the answer that the client has seen. */
  regenerate(posted: ClientRequest, current: string | undefined): Outcome {
    const last = posted.userMessages.at(-1)
    const at = this.messages.findIndex(({ id }) => id === last?.id)
    const before = this.runs
    const outcome = this.send(posted)
    if (outcome !== 'same' || this.runs !== before || posted.regenerate !== current) return outcome
    this.messages = this.messages.slice(0, at + 1)
    this.runs++
    return 'new'
  }
}

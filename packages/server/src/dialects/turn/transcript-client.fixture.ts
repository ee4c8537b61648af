// A badly behaved client: it sends its transcript whole or in part, with or without ids, and does not know what others did.
// Beside it is a model of the expected log, with rules that are independent of the implementation.

import type { ClientRequest } from '@millrace/dialects'
import { user } from '../dialect-server.fixture.ts'

export interface Line {
  readonly id: string
  readonly text: string
  /** The answer to it that the client has seen. */
  answer?: string
}

/** The messages that one tab shows. */
export class Tab {
  lines: Line[] = []
  readonly #hasIds: boolean
  readonly #window: number

  constructor(hasIds: boolean, window: number) {
    this.#hasIds = hasIds
    this.#window = window
  }

  /** The request up to the last shown message. */
  posted(more: Partial<ClientRequest> = {}): ClientRequest {
    const shown = this.lines.slice(-this.#window)
    const said = shown.map(({ id, text }) => user(text, this.#hasIds ? id : undefined))
    return { userMessages: said, endsWithUserMessage: true, answers: [], ...more }
  }
}

export type Outcome = 'said' | 'same' | 'refused'

/** The expected user messages of the log, and all requests. */
export class Model {
  lines: Line[] = []
  runs = 0
  readonly #asked = new Set<string>()

  /** The expected result of a request with ids. */
  take({ userMessages: said }: ClientRequest): Outcome {
    const last = said.at(-1) as { id: string; parts: readonly { text: string }[] }
    const line = { id: last.id, text: last.parts[0]?.text ?? '' }
    const ids = this.lines.map(({ id }) => id)
    const own = ids.indexOf(line.id)
    const isPartOfIt = said.length === 1 || said.some(({ id }) => ids.includes(id ?? ''))
    if (own >= 0 && this.lines[own]?.text === line.text) return 'same'
    if (this.#asked.has(JSON.stringify(line))) return 'refused'
    if (own < 0 && ids.length > 0 && !isPartOfIt) return 'refused'
    this.#asked.add(JSON.stringify(line))
    // Only a message with a known id is replaced.
    this.lines = [...(own < 0 ? this.lines : this.lines.slice(0, own)), line]
    this.runs++
    return 'said'
  }

  /** The expected result of a regeneration, by the id of the answer that the client has seen. */
  retake(posted: ClientRequest, current: string | undefined): Outcome {
    const last = posted.userMessages.at(-1)
    const at = this.lines.findIndex(({ id }) => id === last?.id)
    const before = this.runs
    const outcome = this.take(posted)
    if (outcome !== 'same' || this.runs !== before || posted.regenerate !== current) return outcome
    this.lines = this.lines.slice(0, at + 1)
    this.runs++
    return 'said'
  }
}

// A client of another system, as bad as they come: it sends what it has of a conversation, whole or the end of it, with ids or without, and does not know what others
// did. Beside it stands what the log must have said then, told by rules that know nothing of how they are kept.

import type { ClientRequest } from '@millrace/dialects'
import { user } from '../dialect-server.fixture.ts'

export interface Line {
  readonly id: string
  readonly text: string
  /** The answer to it that the client has seen. */
  answer?: string
}

/** One tab: what it shows. */
export class Tab {
  lines: Line[] = []
  readonly #hasIds: boolean
  readonly #window: number

  constructor(hasIds: boolean, window: number) {
    this.#hasIds = hasIds
    this.#window = window
  }

  /** What it posts, up to the last of what it shows. */
  posted(more: Partial<ClientRequest> = {}): ClientRequest {
    const shown = this.lines.slice(-this.#window)
    const said = shown.map(({ id, text }) => user(text, this.#hasIds ? id : undefined))
    return { userMessages: said, endsWithUserMessage: true, answers: [], ...more }
  }
}

export type Outcome = 'said' | 'same' | 'refused'

/** What the log says that people said, and what was ever asked for. */
export class Model {
  lines: Line[] = []
  runs = 0
  readonly #asked = new Set<string>()

  /** What comes of a request of a client with ids. */
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
    // Only what is known by its id is ever replaced.
    this.lines = [...(own < 0 ? this.lines : this.lines.slice(0, own)), line]
    this.runs++
    return 'said'
  }

  /** What comes of a request to answer a message anew, by the answer to it that the client has seen. */
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

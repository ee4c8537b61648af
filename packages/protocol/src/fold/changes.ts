import type { MessageCell } from './message.ts'
import type { PartCell } from './part.ts'

/** What changed in a view since the last time somebody asked; a notification costs just that (law 11). */
export interface Change {
  /** By id: the messages that changed, each with the keys of its parts that did. */
  readonly messages: ReadonlyMap<string, ReadonlySet<string>>
  /** Messages came, went or moved. */
  readonly order: boolean
  /** Structured objects, by stream id. */
  readonly structured: ReadonlySet<string>
  readonly state: boolean
  readonly output: boolean
  /** Runs, agents, requests, interrupts, hooks or usage. */
  readonly ledger: boolean
  /** After a rewind: everything may be another. */
  readonly all: boolean
}

/** Gathers changes until they are taken. */
export class Changes {
  #messages = new Map<MessageCell, Set<PartCell>>()
  structured = new Set<string>()
  order = false
  state = false
  output = false
  ledger = false
  all = false

  of(message: MessageCell): Set<PartCell> {
    const parts = this.#messages.get(message) ?? new Set()
    this.#messages.set(message, parts)
    return parts
  }

  take(): Change {
    const messages = new Map<string, Set<string>>()
    for (const [message, parts] of this.#messages) {
      message.noted = false
      // One that went and came again is another cell under the same id.
      const keys = messages.get(message.id) ?? new Set<string>()
      for (const cell of parts) {
        cell.noted = false
        keys.add(cell.part.key)
      }
      messages.set(message.id, keys)
    }
    const { structured, order, state, output, ledger, all } = this
    this.#messages = new Map()
    this.structured = new Set()
    this.order = this.state = this.output = this.ledger = this.all = false
    return { messages, order, structured, state, output, ledger, all }
  }
}

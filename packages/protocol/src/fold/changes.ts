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

const NONE: ReadonlySet<string> = new Set()

/** Gathers changes until they are taken. */
export class Changes {
  /** How often they were taken, and one more: what was noted since then bears this number. */
  round = 1
  #messages = new Map<string, Set<string>>()
  #structured: Set<string> | undefined
  order = false
  state = false
  output = false
  ledger = false
  all = false

  /** A message has changed, and perhaps the part of that key. */
  note(id: string, key?: string): void {
    let keys = this.#messages.get(id)
    if (keys === undefined) {
      keys = new Set()
      this.#messages.set(id, keys)
    }
    if (key !== undefined) keys.add(key)
  }

  /** A structured object has changed. */
  noteObject(streamId: string): void {
    this.#structured ??= new Set()
    this.#structured.add(streamId)
  }

  take(): Change {
    const messages = this.#messages
    const structured = this.#structured ?? NONE
    const { order, state, output, ledger, all } = this
    this.round++
    this.#messages = new Map()
    this.#structured = undefined
    this.order = this.state = this.output = this.ledger = this.all = false
    return { messages, order, structured, state, output, ledger, all }
  }
}

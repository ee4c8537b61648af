/** The changes of a view since they were last taken. The cost of a notification depends only on these (law 11). */
export interface Change {
  /** The changed messages by id, each with the keys of its changed parts. */
  readonly messages: ReadonlyMap<string, ReadonlySet<string>>
  /** Messages were added, removed or moved. */
  readonly order: boolean
  /** The stream ids of the changed structured objects. */
  readonly structured: ReadonlySet<string>
  /** Whether the shared state changed. */
  readonly state: boolean
  /** Whether the output changed. */
  readonly output: boolean
  /** Runs, agents, requests, interrupts, hooks or usage. */
  readonly ledger: boolean
  /** After a rewind: everything may have changed. */
  readonly all: boolean
}

const NONE: ReadonlySet<string> = new Set()

/** Collects changes until they are taken. */
export class Changes {
  /** The current round. `take` starts the next one. Cells store the round of their last change. */
  round = 1
  #messages = new Map<string, Set<string>>()
  #structured: Set<string> | undefined
  order = false
  state = false
  output = false
  ledger = false
  all = false

  /** Records that a message changed, and the part with that key. */
  note(id: string, key?: string): void {
    let keys = this.#messages.get(id)
    if (!keys) {
      keys = new Set()
      this.#messages.set(id, keys)
    }
    if (key !== undefined) keys.add(key)
  }

  /** Records that a structured object changed. */
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

import type { MessageCell } from './message-cell.ts'

/** Messages by id, and in the order of their first surviving writes, which is made when somebody reads it. */
export class MessageOrder {
  readonly messages = new Map<string, MessageCell>()
  #read: { readonly cells: readonly MessageCell[]; readonly ids: readonly string[] } | undefined
  /** Those that came last since it was read. */
  #added: MessageCell[] = []

  /** Notes where a message stands, or that none of its writes survived; tells whether that is new. `sequence` is that of the entry at hand. */
  place(message: MessageCell, sequence?: number): boolean {
    const { at, placedAt, id } = message
    if (at === placedAt) return false
    message.placedAt = at
    // Most come last, which leaves the others where they are.
    if (placedAt === undefined && at === sequence) this.#added.push(message)
    else this.#read = undefined
    if (at === undefined) this.messages.delete(id)
    else this.messages.set(id, message)
    return true
  }

  /** The messages and their ids in order; the same arrays until one comes, goes or moves. */
  get order(): { readonly cells: readonly MessageCell[]; readonly ids: readonly string[] } {
    if (!this.#read || this.#added.length) {
      const added = this.#read
        ? this.#added
        : [...this.messages.values()].sort((a, b) => (a.placedAt as number) - (b.placedAt as number))
      const { cells = [], ids = [] } = this.#read ?? {}
      // Of many, `concat` takes a third of the time of a spread.
      this.#read = { cells: cells.concat(added), ids: ids.concat(added.map(({ id }) => id)) }
      this.#added = []
    }
    return this.#read
  }
}

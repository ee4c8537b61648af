import type { StructuredObject, View } from '@millrace/protocol'

/** The content of a session that a rewind removes. Requests, answers and ended runs are never removed. */
export type SessionContent = Pick<View, 'messages' | 'structured' | 'state' | 'output'>

/** The content before a turn. */
interface TurnSnapshot {
  /** Number of messages. Later turns do not change them. */
  readonly messages: number
  readonly objects: number
  /** Objects that the turn changed, as they were before it. */
  changed: readonly (readonly [index: number, object: StructuredObject])[]
  readonly rest: Pick<View, 'state' | 'output'>
}

/** The content of a session before each of its turns. Stored as the changes of each turn, so that a turn costs as much as it changes. */
export class TurnSnapshots {
  readonly #turns: TurnSnapshot[] = []
  /** The objects before the last turn. */
  #objects: readonly StructuredObject[] = []

  /** Takes a snapshot before a turn. */
  begin({ messages, structured, state, output }: SessionContent): void {
    const last = this.#turns.at(-1)
    if (last) last.changed = changedIn(this.#objects, structured)
    this.#objects = structured
    const rest = { ...(state !== undefined && { state }), ...(output !== undefined && { output }) }
    this.#turns.push({ messages: messages.length, objects: structured.length, changed: [], rest })
  }

  /** Returns the content before a turn, and forgets that turn and all later ones. */
  rewind(turn: number, now: SessionContent): SessionContent {
    const { messages, rest } = this.#turns[turn] as TurnSnapshot
    for (let i = this.#turns.length - 2; i >= turn; i--) this.#undo(i)
    const content = { messages: now.messages.slice(0, messages), structured: this.#objects, ...rest }
    if (turn > 0) this.#undo(turn - 1)
    this.#turns.length = turn
    return content
  }

  /** Restores the objects to their state before a turn. */
  #undo(turn: number): void {
    const { objects, changed } = this.#turns[turn] as TurnSnapshot
    const before = this.#objects.slice(0, objects)
    for (const [index, object] of changed) before[index] = object
    this.#objects = before
  }
}

const changedIn = (before: readonly StructuredObject[], after: readonly StructuredObject[]): TurnSnapshot['changed'] =>
  before.flatMap((object, index) => (isSame(object, after[index]) ? [] : [[index, object] as const]))

/** A restored view has equal objects that are not identical. */
const isSame = (one: StructuredObject, other: StructuredObject | undefined): boolean =>
  one === other || JSON.stringify(one) === JSON.stringify(other)

import type { StructuredObject, View } from '@millrace/protocol'

/** What a session shows; who asked for what, and how that ended, only goes forward. */
export type SessionContent = Pick<View, 'messages' | 'structured' | 'state' | 'output'>

/** What there was before a turn. */
interface TurnSnapshot {
  /** How many messages: none of them is changed by a later turn. */
  readonly messages: number
  readonly objects: number
  /** The objects that are not any more as they were, since that turn. */
  changed: readonly (readonly [at: number, object: StructuredObject])[]
  readonly rest: Pick<View, 'state' | 'output'>
}

/** What a session showed before each of its turns, to go back to: kept as what each turn changed, so that it grows with what is said, and not with all that was said before. */
export class TurnSnapshots {
  readonly #turns: TurnSnapshot[] = []
  /** The objects as they were before the last turn. */
  #objects: readonly StructuredObject[] = []

  /** A turn begins. */
  begin({ messages, structured, state, output }: SessionContent): void {
    const last = this.#turns.at(-1)
    if (last) last.changed = changedIn(this.#objects, structured)
    this.#objects = structured
    const rest = { ...(state !== undefined && { state }), ...(output !== undefined && { output }) }
    this.#turns.push({ messages: messages.length, objects: structured.length, changed: [], rest })
  }

  /** What was shown before the turn with a number; that and all after it are forgotten. */
  back(turn: number, now: SessionContent): SessionContent {
    const { messages, rest } = this.#turns[turn] as TurnSnapshot
    for (let i = this.#turns.length - 2; i >= turn; i--) this.#undo(i)
    const shown = { messages: now.messages.slice(0, messages), structured: this.#objects, ...rest }
    if (turn > 0) this.#undo(turn - 1)
    this.#turns.length = turn
    return shown
  }

  /** From before a turn to before the one that it followed. */
  #undo(turn: number): void {
    const { objects, changed } = this.#turns[turn] as TurnSnapshot
    const before = this.#objects.slice(0, objects)
    for (const [at, object] of changed) before[at] = object
    this.#objects = before
  }
}

const changedIn = (before: readonly StructuredObject[], after: readonly StructuredObject[]): TurnSnapshot['changed'] =>
  before.flatMap((object, at) => (isSame(object, after[at]) ? [] : [[at, object] as const]))

/** What a view was restored from has the same objects under other references. */
const isSame = (one: StructuredObject, other: StructuredObject | undefined): boolean =>
  one === other || JSON.stringify(one) === JSON.stringify(other)

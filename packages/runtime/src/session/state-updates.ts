// What a tool makes of the state: kept as what it does, so that it can be done to the state as it is when the call's outcome is committed.

import type { Json, Operation } from '@millrace/protocol'
import { MillraceError, ToolError } from '../error/error.ts'
import { type Schema, validate } from '../schema/schema.ts'
import { diff } from './state-diff.ts'

/** Changes a state: returns the new one, or writes into the one it is given. */
export type StateUpdate = (state: Json | undefined) => Json | undefined

/** The updates of one call, in order. */
export class StateUpdates {
  readonly #read: () => Json | undefined
  readonly #updates: StateUpdate[] = []
  /** The state without and with the updates, as it was last asked for. */
  #base: Json | undefined
  #now: Json | undefined

  constructor(read: () => Json | undefined) {
    this.#read = read
    this.#now = this.#base = read()
  }

  get isEmpty(): boolean {
    return this.#updates.length === 0
  }

  /** The state with all updates so far. */
  get state(): Json | undefined {
    const base = this.#read()
    if (base !== this.#base) {
      this.#now = this.#over(base)
      this.#base = base
    }
    return this.#now
  }

  /** Adds one; throws at once where it cannot be done to the state as it is now. */
  add(update: StateUpdate): void {
    this.#now = updated(this.state, update)
    this.#updates.push(update)
  }

  /** What they make of the state as it is now; throws, and only what is fit to be the call's outcome, where that cannot be. */
  async patches(schema: Schema | undefined): Promise<Operation[]> {
    if (this.isEmpty) return []
    try {
      return await this.#patches(schema)
    } catch (error) {
      throw refusal(error)
    }
  }

  async #patches(schema: Schema | undefined): Promise<Operation[]> {
    const before = this.#read()
    const after = this.#over(before)
    const checked = schema && (await validate(schema, after))
    if (checked && 'problem' in checked) {
      throw new ToolError(`the state does not fit: ${checked.problem}`, {
        code: 'tool_state_refused',
        cause: checked.cause,
      })
    }
    return diff(before ?? null, after ?? null)
  }

  #over(state: Json | undefined): Json | undefined {
    return this.#updates.reduce(updated, state)
  }
}

function updated(state: Json | undefined, update: StateUpdate): Json | undefined {
  try {
    const own = structuredClone(state)
    const next = update(own)
    if (isThenable(next)) {
      // It may fail after it was refused, and nobody else would hear of that.
      next.then(undefined, () => {})
      throw new TypeError('an update of the state cannot wait: compute first, then update')
    }
    const now = next === undefined ? own : next
    return now === undefined ? undefined : (JSON.parse(JSON.stringify(now)) as Json)
  } catch (error) {
    throw refusal(error)
  }
}

/** Why the state was not changed: what an update says itself, or that it could not be. */
const refusal = (error: unknown): MillraceError =>
  MillraceError.isInstance(error)
    ? error
    : new ToolError('the state could not be changed', { code: 'tool_state_refused', cause: error })

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof (Object(value) as { then?: unknown }).then === 'function'

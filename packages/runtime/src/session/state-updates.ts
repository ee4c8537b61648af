// State updates of a tool call. The update functions are kept, so that they can be applied to the current state when
// the outcome is committed.

import { LogError } from '@millrace/log'
import type { Json, Operation } from '@millrace/protocol'
import { MillraceError, ToolError } from '../error/error.ts'
import { type Schema, validate } from '../schema/schema.ts'
import { assertJsonSize } from './assert-json-size.ts'
import { diff } from './state-diff.ts'

/** Updates a state: returns the new one, or changes its argument. */
export type StateUpdate = (state: Json | undefined) => Json | undefined

/** The updates of one call, in order. */
export class StateUpdates {
  readonly #read: () => Json | undefined
  readonly #maxBytes: number
  readonly #updates: StateUpdate[] = []
  /** The state without and with the updates, as of the last read. */
  #base: Json | undefined
  #current: Json | undefined

  /** `maxBytes`: upper limit of the size of a state. */
  constructor(read: () => Json | undefined, maxBytes: number) {
    this.#read = read
    this.#maxBytes = maxBytes
    this.#current = this.#base = read()
  }

  get isEmpty(): boolean {
    return this.#updates.length === 0
  }

  /** The state with all updates so far. */
  get state(): Json | undefined {
    const base = this.#read()
    if (base !== this.#base) {
      this.#current = this.#applyTo(base)
      this.#base = base
    }
    return this.#current
  }

  /** Adds an update. @throws {ToolError} if it cannot be applied to the current state. */
  add(update: StateUpdate): void {
    this.#current = applyUpdate(this.state, update, this.#maxBytes)
    this.#updates.push(update)
  }

  /**
   * The operations of all updates on the current state. @throws {MillraceError} that can be the outcome of the call.
   */
  async patches(schema: Schema | undefined): Promise<Operation[]> {
    if (this.isEmpty) return []
    try {
      return await this.#patches(schema)
    } catch (error) {
      throw stateError(error)
    }
  }

  async #patches(schema: Schema | undefined): Promise<Operation[]> {
    const before = this.#read()
    const after = this.#applyTo(before)
    const checked = schema && (await validate(schema, after))
    if (checked && 'problem' in checked) {
      throw new ToolError(`the state does not match its schema: ${checked.problem}`, {
        code: 'tool_state_refused',
        cause: checked.cause,
      })
    }
    return diff(before ?? null, after ?? null)
  }

  #applyTo(state: Json | undefined): Json | undefined {
    return this.#updates.reduce((current, update) => applyUpdate(current, update, this.#maxBytes), state)
  }
}

function applyUpdate(state: Json | undefined, update: StateUpdate, maxBytes: number): Json | undefined {
  try {
    const copy = structuredClone(state)
    const next = update(copy)
    if (isThenable(next)) {
      // A later rejection of the promise must not be unhandled.
      next.then(undefined, () => {})
      throw new TypeError('a state update cannot be asynchronous: compute first, then update')
    }
    const result = next === undefined ? copy : next
    assertJsonSize(result, maxBytes, 'the state')
    return result === undefined ? undefined : (JSON.parse(JSON.stringify(result)) as Json)
  } catch (error) {
    throw stateError(error)
  }
}

/** The typed error of an update, or a generic one. */
const stateError = (error: unknown): MillraceError =>
  MillraceError.isInstance(error)
    ? error
    : new ToolError(
        error instanceof LogError && error.code === 'too-large'
          ? 'the state change exceeds the size limit of the log: change less, or store a reference'
          : 'the state could not be changed',
        { code: 'tool_state_refused', cause: error },
      )

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof (Object(value) as { then?: unknown }).then === 'function'

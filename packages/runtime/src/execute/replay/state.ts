// The committed state of a workflow: values by key.

import type { Json } from '@millrace/protocol'
import { MillraceError, ValidationError } from '../../error/error.ts'
import { toJsonText } from '../../schema/json.ts'
import { jsonLoss } from '../../schema/json-loss.ts'
import { jsonSizeAtLeast } from '../../schema/json-size.ts'

/** The maximum size of one state value, in bytes of JSON. */
export const MAX_STATE_VALUE = 64 * 1024
/** The maximum size of all state values of a run, in bytes of JSON. */
export const MAX_STATE = 1024 * 1024

/** A new value, undefined to remove the value, or a function of the old value. */
export type WorkflowStateUpdate = Json | undefined | ((value: Json | undefined) => unknown)

/** An uncommitted change. */
export interface StateChange {
  readonly key: string
  readonly update: WorkflowStateUpdate
}

export class WorkflowState {
  readonly #values = new Map<string, Json>()
  readonly #sizes = new Map<string, number>()
  #size = 0

  /** A copy of a value with uncommitted changes applied. */
  read(key: string, changes: readonly StateChange[] = []): Json | undefined {
    let value = this.#values.get(key)
    for (const change of changes) if (change.key === key) value = updated(key, value, change.update)
    return structuredClone(value)
  }

  /** A copy of all values whose keys have a prefix, by key without the prefix. */
  under(prefix: string): { readonly [key: string]: Json } {
    const matching = [...this.#values].filter(([key]) => key.startsWith(prefix))
    return structuredClone(Object.fromEntries(matching.map(([key, value]) => [key.slice(prefix.length), value])))
  }

  /**
   * The changed values after uncommitted changes.
   * @throws if a value is no JSON, or the state becomes too large
   */
  after(changes: readonly StateChange[]): ReadonlyMap<string, Json | undefined> {
    const values = new Map<string, Json | undefined>()
    for (const { key, update } of changes) {
      values.set(key, updated(key, values.has(key) ? values.get(key) : this.#values.get(key), update))
    }
    let size = this.#size
    for (const [key, value] of values) size += sizeOf(key, value) - (this.#sizes.get(key) ?? 0)
    if (size > MAX_STATE) {
      throw new MillraceError(
        'workflow_state_too_large',
        `the state of the run: expected at most ${MAX_STATE} bytes, found ${size}: store references instead`,
      )
    }
    return values
  }

  /** Sets a committed value. */
  set(key: string, value: Json | undefined): void {
    const size = value === undefined ? 0 : sizeOf(key, value)
    this.#size += size - (this.#sizes.get(key) ?? 0)
    if (value === undefined) {
      this.#values.delete(key)
      this.#sizes.delete(key)
    } else {
      this.#values.set(key, value)
      this.#sizes.set(key, size)
    }
  }
}

function updated(key: string, value: Json | undefined, update: WorkflowStateUpdate): Json | undefined {
  if (typeof update !== 'function') return update
  return checkStateValue(key, update(structuredClone(value)))
}

/**
 * A value as the log stores it.
 * @throws if it is no JSON or too large
 */
export function checkStateValue(key: string, value: unknown): Json | undefined {
  if (value === undefined) return undefined
  const tooLargeError = (bytes: number | string) =>
    new MillraceError(
      'workflow_state_too_large',
      `state ${key}: expected at most ${MAX_STATE_VALUE} bytes, found ${bytes}: store a reference instead`,
    )
  // Measured first, because serializing a large value blocks the process.
  if (jsonSizeAtLeast(value, MAX_STATE_VALUE) > MAX_STATE_VALUE) throw tooLargeError('more')
  const notJson = (found: string, cause?: unknown) =>
    new ValidationError(`state ${key}: expected JSON, found ${found}: set a plain value instead`, { cause })
  const loss = jsonLoss(value)
  if (loss !== undefined) throw notJson(loss)
  const text = toJsonText(value, cause => notJson('a value that is not JSON', cause))
  const bytes = Buffer.byteLength(text)
  if (bytes > MAX_STATE_VALUE) throw tooLargeError(bytes)
  return JSON.parse(text) as Json
}

const sizeOf = (key: string, value: Json | undefined): number =>
  value === undefined ? 0 : Buffer.byteLength(key) + Buffer.byteLength(JSON.stringify(value))

import type { Json } from '@millrace/protocol'

/** The type of a value after `JSON.parse(JSON.stringify(value))`: dates are strings, functions and symbols are absent. */
export type Jsonified<T> = unknown extends T
  ? T
  : T extends Json | undefined
    ? T
    : T extends { toJSON(): infer U }
      ? Jsonified<U>
      : T extends NotJson | bigint
        ? never
        : T extends readonly unknown[]
          ? { [K in keyof T]: T[K] extends NotJson ? null : Jsonified<T[K]> }
          : T extends object
            ? { [K in keyof T as T[K] extends NotJson ? never : K]: Jsonified<T[K]> }
            : never

type NotJson = ((...args: never) => unknown) | symbol

/** Serializes a value to JSON. @throws the error that `toError` returns if it is not JSON. `toError` gets the cause, if any. */
export function toJsonText(value: unknown, toError: (cause?: unknown) => Error): string {
  let text: string | undefined
  try {
    text = JSON.stringify(value)
  } catch (cause) {
    throw toError(cause)
  }
  if (text === undefined) throw toError()
  return text
}

/** Converts a value to what its JSON text parses to. @throws the error that `toError` returns if it is not JSON. */
export const toJson = (value: unknown, toError: (cause?: unknown) => Error): Json =>
  JSON.parse(toJsonText(value, toError)) as Json

/** The length of a value as JSON text, in characters; infinite if it is not JSON. */
export function jsonLength(value: unknown): number {
  try {
    return JSON.stringify(value)?.length ?? 0
  } catch {
    return Number.POSITIVE_INFINITY
  }
}

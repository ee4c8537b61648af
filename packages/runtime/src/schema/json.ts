import type { Json } from '@millrace/protocol'

/** What becomes of a type on its way through the log, which is JSON: dates are texts, and what JSON does not know is not there. */
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

/** The JSON text of a value; throws what refuses it where there is none: with the cause, where one was thrown. */
export function toJsonText(value: unknown, refuse: (cause?: unknown) => Error): string {
  let text: string | undefined
  try {
    text = JSON.stringify(value)
  } catch (cause) {
    throw refuse(cause)
  }
  if (text === undefined) throw refuse()
  return text
}

/** A value as JSON has it; throws what refuses it where that is none. */
export const toJson = (value: unknown, refuse: (cause?: unknown) => Error): Json =>
  JSON.parse(toJsonText(value, refuse)) as Json

/** The length of a value as JSON text, in characters; infinite if it is not JSON. */
export function jsonLength(value: unknown): number {
  try {
    return JSON.stringify(value)?.length ?? 0
  } catch {
    return Number.POSITIVE_INFINITY
  }
}

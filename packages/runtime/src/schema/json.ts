import type { Json } from '@millrace/protocol'

/** What becomes of a type on its way through the log, which is JSON: dates are texts, and what JSON does not know is not there. */
export type Jsonified<T> = unknown extends T
  ? T
  : T extends Json | undefined
    ? T
    : T extends { toJSON(): infer U }
      ? Jsonified<U>
      : T extends Unsayable | bigint
        ? never
        : T extends readonly unknown[]
          ? { [K in keyof T]: T[K] extends Unsayable ? null : Jsonified<T[K]> }
          : T extends object
            ? { [K in keyof T as T[K] extends Unsayable ? never : K]: Jsonified<T[K]> }
            : never

type Unsayable = ((...args: never) => unknown) | symbol

// The types of an adapter: chunks and messages as MUI X Chat documents them.

import type { Json, JsonObject } from '@millrace/protocol'

export type * from '@millrace/dialects/mui'

/** Types a value of an adapter as JSON, without a check. Undefined becomes null. */
export const jsonOf = (value: unknown): Json => (value === undefined ? null : (value as Json))

/** Types an object of an adapter as JSON, without a check. */
export const jsonObjectOf = (value: Readonly<Record<string, unknown>>): JsonObject => value as JsonObject

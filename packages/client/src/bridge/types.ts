// The types of an adapter, as its writer sees them: chunks and messages in the shape that the pages about adapters show.

import type { Json, JsonObject } from '@millrace/protocol'

export type * from '@millrace/dialects/mui'

/** A value that came from an adapter, as the fold takes it: what JSON cannot say is null. */
export const jsonOf = (value: unknown): Json => (value === undefined ? null : (value as Json))

/** Likewise, an object. */
export const jsonObjectOf = (value: Readonly<Record<string, unknown>>): JsonObject => value as JsonObject

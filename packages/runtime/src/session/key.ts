import { createHash } from 'node:crypto'

/** Joins parts to one key, in characters that any HTTP header allows. Different parts never give the same key. */
export const keyOf = (...parts: readonly (string | number)[]): string => parts.map(part => escaped(`${part}`)).join('/')

/** Percent-encodes a part. A lone surrogate, which URI encoding rejects, becomes `%u` and its code. */
const escaped = (part: string): string =>
  part.replace(/\p{Surrogate}|\P{Surrogate}+/gu, text =>
    text.isWellFormed() ? encodeURIComponent(text) : `%u${text.charCodeAt(0).toString(16)}`,
  )

/** The part of a key with one part. */
export const partOfKey = (key: string): string =>
  key.replace(/%u[0-9a-f]{4}|(?:(?!%u).)+/gs, text =>
    text.startsWith('%u') ? String.fromCharCode(Number.parseInt(text.slice(2), 16)) : decodeURIComponent(text),
  )

/** The key of one part, or its SHA-256 hash if it is longer than `maxLength` characters (64 or more). */
export function shortKeyOf(part: string, maxLength: number): string {
  const key = keyOf(part)
  return key.length <= maxLength ? key : createHash('sha256').update(key).digest('hex')
}

// Names are opaque text, and Postgres cannot hold some of it: a text parameter cannot contain NUL, a lone surrogate
// would become U+FFFD and so equal to another name, and index entries have a size limit. So control characters and
// lone surrogates are written as ESC and four hex digits, and a long name is looked up by ESC, `h` and its hash,
// which no escaped name can equal. Other names stay as they are.

import { createHash } from 'node:crypto'

const ESCAPE = '\u001b'
const MAX_KEY_LENGTH = 256
const TOKEN_LENGTH = 12

/** Encodes a name as text that Postgres can hold. Injective. */
export const encodeName = (name: string): string =>
  name.replace(/[\p{Cc}\p{Cs}]/gu, unit => ESCAPE + unit.charCodeAt(0).toString(16).padStart(4, '0'))

/** Decodes a name. */
export const decodeName = (text: string): string =>
  text.replace(/\p{Cc}([\da-f]{4})/gu, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))

/** The lookup key of a name: short enough for an index, and unique. */
export function keyOf(name: string): string {
  const text = encodeName(name)
  return text.length <= MAX_KEY_LENGTH ? text : `${ESCAPE}h${createHash('sha256').update(text).digest('hex')}`
}

/** The name itself if its key is a hash; otherwise null. */
export function longNameOf(name: string): string | null {
  const text = encodeName(name)
  return text.length <= MAX_KEY_LENGTH ? null : text
}

/**
 * The token of a log in notifications: short, without characters that need escapes. Logs with the same token wake
 * each other's watchers without need.
 */
export const tokenOf = (name: string): string =>
  createHash('sha256').update(encodeName(name)).digest('base64url').slice(0, TOKEN_LENGTH)

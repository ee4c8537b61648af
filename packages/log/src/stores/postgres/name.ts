// Names are opaque text, and three kinds of it are not for Postgres: a text parameter cannot hold NUL, a lone surrogate would become U+FFFD
// and so another name's twin, and what an index holds is bounded. So control characters and lone surrogates are written as ESC and four hex
// digits, and a long name is looked up by ESC, `h` and its hash, which no escaped name can look like. Every other name stays as it is.

import { createHash } from 'node:crypto'

const ESCAPE = '\u001b'
const MAX_KEY_LENGTH = 256
const TOKEN_LENGTH = 12

/** Writes a name as text that Postgres can hold; two names never become one. */
export const encodeName = (name: string): string =>
  name.replace(/[\p{Cc}\p{Cs}]/gu, unit => ESCAPE + unit.charCodeAt(0).toString(16).padStart(4, '0'))

/** The name that was written. */
export const decodeName = (text: string): string =>
  text.replace(/\p{Cc}([\da-f]{4})/gu, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))

/** What a name is looked up by: short enough for an index, and no other name's. */
export function keyOf(name: string): string {
  const text = encodeName(name)
  return text.length <= MAX_KEY_LENGTH ? text : `${ESCAPE}h${createHash('sha256').update(text).digest('hex')}`
}

/** The name itself, where its key does not say it; null where it does. */
export function beyondKey(name: string): string | null {
  const text = encodeName(name)
  return text.length <= MAX_KEY_LENGTH ? null : text
}

/** What a notification calls a log: short, and of letters that need no escape. Two logs with one token wake each other's watchers for nothing. */
export const tokenOf = (name: string): string =>
  createHash('sha256').update(encodeName(name)).digest('base64url').slice(0, TOKEN_LENGTH)

// A cursor is written `sequence.incarnation.epoch`: the sequence first, so that a person can read it, and of letters, digits, `_`, `-`, `.`
// and `~` alone, which need no escape in a URL, a header or an `id:` line. Any other character of the two names is `~` and its code.

import { ProtocolError } from '../error.ts'

/** A place in a log and the proof of what lies there. */
export interface Cursor {
  sequence: number
  incarnation: string
  /** The epoch under which the entry there was written, or the nonce of a guest's entry. */
  epoch: string
}

/** A place without proof: a bare number. */
export interface UnprovenCursor {
  sequence: number
  incarnation?: undefined
  epoch?: undefined
}

/** The longest token that is written or read. */
export const MAX_CURSOR_LENGTH = 1024

const proven = /^(\d+)\.((?:[\w-]|~[0-9a-f]{4})*)\.((?:[\w-]|~[0-9a-f]{4})*)$/

const quote = (text: string): string =>
  text.replace(/[^\w-]/g, unit => `~${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

const unquote = (text: string): string =>
  text.replace(/~(.{4})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))

function refuse(token: unknown): never {
  const found = typeof token === 'string' ? JSON.stringify(token.slice(0, 40)) : String(token)
  throw new ProtocolError('invalid-cursor', `cursor: expected a token or a sequence, found ${found}`)
}

/** Writes a cursor as a token that is safe in URLs and headers. */
export function encodeCursor({ sequence, incarnation, epoch }: Cursor): string {
  const token = `${sequence}.${quote(incarnation)}.${quote(epoch)}`
  if (!Number.isSafeInteger(sequence) || sequence < 0 || token.length > MAX_CURSOR_LENGTH) refuse(token)
  return token
}

/** Reads a token, or a bare sequence as an unproven cursor; anything else is an `invalid-cursor`. */
export function decodeCursor(token: string | number): Cursor | UnprovenCursor {
  const text = typeof token === 'number' ? String(token) : token
  if (typeof text !== 'string' || text.length > MAX_CURSOR_LENGTH) refuse(token)
  const parts = proven.exec(text)
  const sequence = Number(parts === null ? (/^\d+$/.test(text) ? text : Number.NaN) : parts[1])
  if (!Number.isSafeInteger(sequence)) refuse(token)
  if (parts === null) return { sequence }
  const cursor = { sequence, incarnation: unquote(parts[2] as string), epoch: unquote(parts[3] as string) }
  // One cursor has one token, so that tokens can be compared as text.
  return encodeCursor(cursor) === text ? cursor : refuse(token)
}

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

const quote = (text: string): string =>
  text.replace(/[^\w-]/g, unit => `~${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

const unquote = (text: string): string =>
  text.replace(/~(.{4})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))

function refuse(token: unknown): never {
  const found = JSON.stringify(String(token).slice(0, 40))
  throw new ProtocolError('invalid-cursor', `cursor: expected a token or a sequence, found ${found}`)
}

const write = ({ sequence, incarnation, epoch }: Cursor | UnprovenCursor): string =>
  incarnation === undefined ? `${sequence}` : `${sequence}.${quote(incarnation)}.${quote(epoch)}`

const fits = (sequence: number, token: string): boolean =>
  Number.isSafeInteger(sequence) && sequence >= 0 && token.length <= MAX_CURSOR_LENGTH

/** Writes a cursor as a token that is safe in URLs and headers. */
export function encodeCursor(cursor: Cursor): string {
  const token = write(cursor)
  return fits(cursor.sequence, token) ? token : refuse(token)
}

/** Reads a token, or a bare sequence as an unproven cursor; anything else is an `invalid-cursor`. */
export function decodeCursor(token: string | number): Cursor | UnprovenCursor {
  const text = String(token)
  const [digits, incarnation, epoch = ''] = text.split('.', 3)
  const sequence = Number(digits)
  const cursor =
    incarnation === undefined ? { sequence } : { sequence, incarnation: unquote(incarnation), epoch: unquote(epoch) }
  // One cursor has one token, so that tokens can be compared as text.
  return fits(sequence, text) && (token === sequence || token === write(cursor)) ? cursor : refuse(token)
}

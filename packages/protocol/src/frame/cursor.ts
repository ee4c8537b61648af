// A cursor is written `sequence.incarnation.epoch`: the sequence first, so that a person can read it, and of letters, digits, `_`, `-` and
// `.` alone, which need no escape in a URL, a header or an `id:` line. One cursor has one token, so that tokens can be compared as text.

import { mismatch, show } from '../error/protocol-error.ts'

/** A place in a log and the proof of what lies there; its two names are of letters, digits, `_` and `-`. */
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

const TOKEN = /^(0|[1-9]\d*)(?:\.([\w-]+)\.([\w-]+))?$/

/** Writes a cursor as a token that is safe in URLs and headers. */
export function encodeCursor({ sequence, incarnation, epoch }: Cursor): string {
  const token = `${sequence}.${incarnation}.${epoch}`
  decodeCursor(token)
  return token
}

/** Reads a token, or a bare sequence as an unproven cursor; anything else is an `invalid-cursor`. */
export function decodeCursor(token: string | number): Cursor | UnprovenCursor {
  const text = `${token}`
  const [, digits, incarnation, epoch = ''] = (text.length <= MAX_CURSOR_LENGTH && TOKEN.exec(text)) || []
  const sequence = Number(digits)
  if (!Number.isSafeInteger(sequence)) throw mismatch('invalid-cursor', 'cursor', 'token or sequence', show(text))
  return incarnation === undefined ? { sequence } : { sequence, incarnation, epoch }
}

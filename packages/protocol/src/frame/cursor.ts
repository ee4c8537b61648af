// A cursor token is `sequence.incarnation.epoch`. It has only letters, digits, `_`, `-` and `.`, which need no escape in a URL, a header
// or an `id:` line. Equal cursors have equal tokens, so tokens can be compared as text.

import { mismatch, show } from '../error/protocol-error.ts'

/** A position in a log, with the identity of the log and of the entry there. Both names have only letters, digits, `_` and `-`. */
export interface Cursor {
  /** The sequence of the position. */
  sequence: number
  /** Identity of the log. */
  incarnation: string
  /** The epoch of the writer of the entry there, or the nonce of a guest's entry. */
  epoch: string
}

/** A sequence alone, which cannot be checked against the log. */
export interface UnprovenCursor {
  /** The sequence of the position. */
  sequence: number
  incarnation?: undefined
  epoch?: undefined
}

/** The maximum length of a token. */
export const MAX_CURSOR_LENGTH = 1024

const TOKEN = /^(0|[1-9]\d*)(?:\.([\w-]+)\.([\w-]+))?$/

/**
 * Encodes a cursor as a token that is safe in URLs and headers.
 * @throws ProtocolError `invalid-cursor`
 */
export function encodeCursor({ sequence, incarnation, epoch }: Cursor): string {
  const token = `${sequence}.${incarnation}.${epoch}`
  decodeCursor(token)
  return token
}

/**
 * Decodes a token, or a sequence alone as an unproven cursor.
 * @throws ProtocolError `invalid-cursor`
 */
export function decodeCursor(token: string | number): Cursor | UnprovenCursor {
  const text = `${token}`
  const [, digits, incarnation, epoch = ''] = (text.length <= MAX_CURSOR_LENGTH && TOKEN.exec(text)) || []
  const sequence = Number(digits)
  if (!Number.isSafeInteger(sequence)) throw mismatch('invalid-cursor', 'cursor', 'token or sequence', show(text))
  return incarnation === undefined ? { sequence } : { sequence, incarnation, epoch }
}

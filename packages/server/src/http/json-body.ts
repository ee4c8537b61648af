// The JSON of large values, serialized in pieces: the bytes are counted while they are written, and other requests run in
// between.

import { setImmediate as yieldToEventLoop } from 'node:timers/promises'

/** Containers up to this depth are serialized by their elements: a view, its messages, and their parts. */
const MAX_DEPTH = 5
/** Size of a piece, in characters. */
const PIECE_CHARACTERS = 64 * 1024
/** Number of pieces after which other requests run. */
const PIECES_PER_TURN = 16

/** Called with the size of each written piece. @throws to stop */
type CountPiece = (bytes: number) => void

/** The JSON of a value that does not change meanwhile, as UTF-8. */
export async function jsonBody(value: unknown, count: CountPiece): Promise<Uint8Array> {
  const pieces: Buffer[] = []
  let text = ''
  const flush = () => {
    const piece = Buffer.from(text)
    count(piece.byteLength)
    pieces.push(piece)
    text = ''
  }
  for (const fragment of fragmentsOf(value, MAX_DEPTH)) {
    text += fragment
    if (text.length < PIECE_CHARACTERS) continue
    flush()
    if (pieces.length % PIECES_PER_TURN === 0) await yieldToEventLoop()
  }
  flush()
  return pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces)
}

/** The JSON of a value, in fragments. */
function* fragmentsOf(value: unknown, depth: number): Generator<string> {
  if (depth === 0 || typeof value !== 'object' || value === null || 'toJSON' in value) {
    yield JSON.stringify(value) ?? 'null'
  } else if (Array.isArray(value)) {
    yield '['
    for (let i = 0; i < value.length; i++) {
      if (i > 0) yield ','
      yield* fragmentsOf(value[i], depth - 1)
    }
    yield ']'
  } else {
    let start = '{'
    for (const [key, field] of Object.entries(value)) {
      if (field === undefined || typeof field === 'function' || typeof field === 'symbol') continue
      yield `${start}${JSON.stringify(key)}:`
      yield* fragmentsOf(field, depth - 1)
      start = ','
    }
    yield start === '{' ? '{}' : '}'
  }
}

import { createHash } from 'node:crypto'

/** One name of several pieces, in letters that any header takes; other pieces never make the same name. */
export const keyOf = (...pieces: readonly (string | number)[]): string =>
  pieces.map(piece => escaped(`${piece}`)).join('/')

/** As in addresses; half a pair of surrogates, which those have no letters for, by its number. */
const escaped = (piece: string): string =>
  piece.replace(/\p{Surrogate}|\P{Surrogate}+/gu, part =>
    part.isWellFormed() ? encodeURIComponent(part) : `%u${part.charCodeAt(0).toString(16)}`,
  )

/** The piece that a name of one piece was made of. */
export const pieceOf = (key: string): string =>
  key.replace(/%u[0-9a-f]{4}|(?:(?!%u).)+/gs, part =>
    part.startsWith('%u') ? String.fromCharCode(Number.parseInt(part.slice(2), 16)) : decodeURIComponent(part),
  )

/** A name of one piece that is no longer than so many letters, from 64 on: a longer one is told by its hash. */
export function shortKeyOf(piece: string, longest: number): string {
  const key = keyOf(piece)
  return key.length <= longest ? key : createHash('sha256').update(key).digest('hex')
}

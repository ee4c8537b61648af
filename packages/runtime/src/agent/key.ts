/** One name of several pieces, in letters that any header takes; other pieces never make the same name. */
export const keyOf = (...pieces: readonly (string | number)[]): string =>
  pieces.map(piece => escaped(`${piece}`)).join('/')

/** As in addresses; half a pair of surrogates, which those have no letters for, by its number. */
const escaped = (piece: string): string =>
  piece.replace(/\p{Surrogate}|\P{Surrogate}+/gu, part =>
    part.isWellFormed() ? encodeURIComponent(part) : `%u${part.charCodeAt(0).toString(16)}`,
  )

// Names that clients choose, in paths, queries and bodies alike: of sessions, runs, messages, agents.

import { Refusal } from '../errors/refusal.ts'

/** The longest name that a client may give. */
export const LONGEST_NAME = 256

/** What a name is, for people. */
export const A_NAME = `a name of 1 to ${LONGEST_NAME} characters, without control characters`

/** Whether a text can be a name: control characters would let one pose as another, in a log or on a screen, and half a character cannot be written down. */
export const isName = (text: string, longest = LONGEST_NAME): boolean =>
  text !== '' && text.length <= longest && text.isWellFormed() && !/\p{Cc}/u.test(text)

/** The name that a piece of a path stands for. */
export function nameIn(piece: string): string {
  let name: string
  try {
    name = decodeURIComponent(piece)
  } catch {
    throw new Refusal('request_invalid', 'path: expected percent signs that stand for characters')
  }
  // Whoever resolves paths would take these for a way up.
  if (isName(name) && name !== '.' && name !== '..') return name
  throw new Refusal('request_invalid', `path: expected ${A_NAME}`)
}

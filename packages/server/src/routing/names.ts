// Names that clients choose for sessions, runs, messages and agents, in paths, queries and bodies.

import { HttpError } from '../errors/http-error.ts'

/** Maximum length of a name, in characters. */
export const MAX_NAME_LENGTH = 256

/** The rule for names, for error messages. */
export const NAME_RULE = `a name of 1 to ${MAX_NAME_LENGTH} characters, without control characters`

/** Whether a text is a valid name. Control characters could disguise one name as another, and lone surrogates cannot be encoded. */
export const isName = (text: string, longest = MAX_NAME_LENGTH): boolean =>
  text !== '' && text.length <= longest && text.isWellFormed() && !/\p{Cc}/u.test(text)

/** Decodes a name in a path. @throws `request_invalid` */
export function nameIn(piece: string): string {
  let name: string
  try {
    name = decodeURIComponent(piece)
  } catch {
    throw new HttpError('request_invalid', 'path: expected valid percent-encoding')
  }
  // URL parsers resolve these as relative segments.
  if (isName(name) && name !== '.' && name !== '..') return name
  throw new HttpError('request_invalid', `path: expected ${NAME_RULE}`)
}

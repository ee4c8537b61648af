// Ids in requests of dialect clients, mapped to ids that are valid in the log.

import { createHash } from 'node:crypto'
import { HttpError } from '../../errors/http-error.ts'
import { isName, NAME_RULE } from '../../routing/names.ts'

/** An id derived from its arguments: the same arguments always give the same id. */
export const derivedId = (...values: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(values)).digest('hex').slice(0, NAME_LENGTH)

const NAME_LENGTH = 32

/** The message id for a client's id: the same id if it is valid here, otherwise an id derived from it. Undefined if the client sent none. */
export function messageIdFor(id: string | undefined): string | undefined {
  if (id === undefined || id === '') return undefined
  // `::` marks the messages of agents.
  return isName(id) && !id.includes('::') ? id : `said-${derivedId(id)}`
}

/** Checks a session id that comes in a body or query. @throws `request_invalid` */
export function checkSessionId(id: string): string {
  if (isName(id) && !RESERVED.includes(id)) return id
  throw new HttpError('request_invalid', `session: expected ${NAME_RULE}, and none of ${RESERVED.join(' ')}`)
}

/** Ids that have another meaning in the path of a session. */
const RESERVED = ['.', '..', 'stream']

/** Checks a run id that a client chose. @throws `request_invalid` */
export function checkRunId(label: string, id: string | null | undefined): string | undefined {
  if (id === undefined || id === null || id === '') return undefined
  if (isName(id)) return id
  throw new HttpError('request_invalid', `${label}: expected ${NAME_RULE}`)
}

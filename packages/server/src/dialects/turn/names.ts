// Names in requests of other systems' clients: whatever they call a thing, it is called something that can stand in a log.

import { createHash } from 'node:crypto'
import { Refusal } from '../../errors/refusal.ts'
import { A_NAME, isName } from '../../routing/names.ts'

/** The name of something that is the same whenever it is about the same. */
export const derivedId = (...about: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(about)).digest('hex').slice(0, NAME_LENGTH)

const NAME_LENGTH = 32

/** What a client's message is called here: as the client does, where that can be a message's name, and otherwise by one that is always the same; undefined where it has none. */
export function messageIdFor(id: string | undefined): string | undefined {
  if (id === undefined || id === '') return undefined
  // `::` marks the messages of agents.
  return isName(id) && !id.includes('::') ? id : `said-${derivedId(id)}`
}

/** A name of a session that a client gives beside the path; throws where it could not stand in one. */
export function checkSessionId(id: string): string {
  if (isName(id) && !TAKEN.includes(id)) return id
  throw new Refusal('request_invalid', `session: expected ${A_NAME}, and none of ${TAKEN.join(' ')}`)
}

/** What would be taken for something else in the path of a session. */
const TAKEN = ['.', '..', 'stream']

/** A name of a run that a client gives; throws where it is none. */
export function checkRunId(what: string, id: string | null | undefined): string | undefined {
  if (id === undefined || id === null || id === '') return undefined
  if (isName(id)) return id
  throw new Refusal('request_invalid', `${what}: expected ${A_NAME}`)
}

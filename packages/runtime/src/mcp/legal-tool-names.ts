// Converts the names of a server's tools to letters, digits, _ and -, as models require. The result does not depend on the
// order of the tools, so that a waiting call finds its tool again.

import { createHash } from 'node:crypto'

const MAX_NAME_LENGTH = 64
const ILLEGAL_CHARACTERS = /[^A-Za-z0-9_-]/g

/** The names for the model, by the names at the server. They are unique. A legal name with its prefix stays unchanged. */
export function legalToolNames(names: Iterable<string>, prefix: string): ReadonlyMap<string, string> {
  const wanted = new Map([...new Set(names)].map(name => [name, toLegalName(`${prefix}${name}`)]))
  const uses = new Map<string, number>()
  for (const name of wanted.values()) uses.set(name, (uses.get(name) ?? 0) + 1)
  const needsNoHash = (name: string, legalName: string) => legalName === `${prefix}${name}` || uses.get(legalName) === 1
  const taken = new Set(
    [...wanted].filter(([name, legalName]) => needsNoHash(name, legalName)).map(([, legalName]) => legalName),
  )
  const hashedNames = new Map<string, string>()
  for (const [name, legalName] of [...wanted].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    if (needsNoHash(name, legalName)) continue
    // Another tool may already have the name with the hash.
    let hashed = legalName
    for (let attempt = 0; taken.has(hashed) || attempt === 0; attempt++) hashed = withHash(legalName, name, attempt)
    taken.add(hashed)
    hashedNames.set(name, hashed)
  }
  return new Map([...wanted].map(([name, legalName]) => [name, hashedNames.get(name) ?? legalName]))
}

function withHash(legalName: string, name: string, attempt: number): string {
  const hash = createHash('sha256')
    .update(attempt === 0 ? name : `${attempt} ${name}`)
    .digest('hex')
    .slice(0, 8)
  return `${legalName.slice(0, MAX_NAME_LENGTH - hash.length - 1)}_${hash}`
}

const toLegalName = (name: string): string => name.replace(ILLEGAL_CHARACTERS, '_').slice(0, MAX_NAME_LENGTH)

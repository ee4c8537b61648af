// Converts the names of a server's tools to letters, digits, _ and -, as models require. The result does not depend on the
// order of the tools, so that a waiting call finds its tool again.

import { createHash } from 'node:crypto'

const MAX_NAME_LENGTH = 64
const ILLEGAL = /[^A-Za-z0-9_-]/g

/** The names for the model by the names at the server. They are unique, and a legal name stays unchanged. */
export function legalToolNames(names: Iterable<string>, prefix: string): ReadonlyMap<string, string> {
  const wanted = new Map([...new Set(names)].map(name => [name, toLegalName(`${prefix}${name}`)]))
  const times = new Map<string, number>()
  for (const name of wanted.values()) times.set(name, (times.get(name) ?? 0) + 1)
  const isKept = (name: string, legalName: string) => legalName === `${prefix}${name}` || times.get(legalName) === 1
  const taken = new Set(
    [...wanted].filter(([name, legalName]) => isKept(name, legalName)).map(([, legalName]) => legalName),
  )
  const marked = new Map<string, string>()
  for (const [name, legalName] of [...wanted].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    if (isKept(name, legalName)) continue
    // Another tool may already have the name with the hash.
    let mark = legalName
    for (let turn = 0; taken.has(mark) || turn === 0; turn++) mark = withHash(legalName, name, turn)
    taken.add(mark)
    marked.set(name, mark)
  }
  return new Map([...wanted].map(([name, legalName]) => [name, marked.get(name) ?? legalName]))
}

function withHash(legalName: string, name: string, turn: number): string {
  const hash = createHash('sha256')
    .update(turn === 0 ? name : `${turn} ${name}`)
    .digest('hex')
    .slice(0, 8)
  return `${legalName.slice(0, MAX_NAME_LENGTH - hash.length - 1)}_${hash}`
}

const toLegalName = (name: string): string => name.replace(ILLEGAL, '_').slice(0, MAX_NAME_LENGTH)

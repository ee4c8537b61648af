// A server may name its tools as it likes; models want letters, digits, _ and -. What a name becomes does not depend on the order in which tools are told, so
// that a call that waits finds its tool again.

import { createHash } from 'node:crypto'

const LONGEST_NAME = 64
const ILLEGAL = /[^A-Za-z0-9_-]/g

/** The names by which a model is told tools, by the names that the server has for them: no two are the same, and none that is legal is changed. */
export function legalNames(names: Iterable<string>, prefix: string): ReadonlyMap<string, string> {
  const wanted = new Map([...new Set(names)].map(name => [name, legal(`${prefix}${name}`)]))
  const times = new Map<string, number>()
  for (const name of wanted.values()) times.set(name, (times.get(name) ?? 0) + 1)
  const isChanged = (name: string) => wanted.get(name) !== `${prefix}${name}`
  const marked = (name: string) => {
    const hash = createHash('sha256').update(name).digest('hex').slice(0, 8)
    return `${legal(`${prefix}${name}`).slice(0, LONGEST_NAME - hash.length - 1)}_${hash}`
  }
  return new Map(
    [...wanted].map(([name, own]) => [name, isChanged(name) && (times.get(own) ?? 0) > 1 ? marked(name) : own]),
  )
}

const legal = (name: string): string => name.replace(ILLEGAL, '_').slice(0, LONGEST_NAME)

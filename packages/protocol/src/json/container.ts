import { getOwn, isContainer, type Json, type JsonContainer, putOwn } from './json.ts'

/** What a value is, in the words of JSON; `nothing` where there is none. */
export function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (typeof value !== 'object') return typeof value
  return value === null ? 'null' : Array.isArray(value) ? 'array' : isContainer(value) ? 'object' : 'no plain object'
}

/** Whether a key can address an array: digits without a leading zero. */
export const isIndex = (key: string): boolean => /^(0|[1-9]\d*)$/.test(key)

/** What stands at a key of an object or at an index of an array, if anything. */
export const childOf = (node: JsonContainer, key: string): Json | undefined =>
  Array.isArray(node) ? (isIndex(key) ? node[Number(key)] : undefined) : getOwn(node, key)

export const copyOf = <T extends object>(node: T): T => (Array.isArray(node) ? node.slice() : { ...node }) as T

/** The objects that whoever holds this set made and has shown to nobody, so that it may write in them. */
export type Owned = Set<object> | WeakSet<object>

/** Copy on write: an object to write in, which is the given one if it is owned and else a shallow copy that now is. */
export function writable<T extends object>(node: T, owned: Owned): T {
  if (owned.has(node)) return node
  const copy = copyOf(node)
  owned.add(copy)
  return copy
}

/** Writes at a key or an index; a gap before it is filled with `null`. */
export function put(node: JsonContainer, key: string, value: Json): void {
  if (Array.isArray(node)) while (node.length < Number(key)) node.push(null)
  putOwn(node, key, value)
}

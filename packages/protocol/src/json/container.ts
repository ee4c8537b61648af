import { getOwn, isContainer, type Json, type JsonContainer, putOwn } from './json.ts'

/** The JSON type of a value, for error messages. `nothing` for undefined. */
export function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (typeof value !== 'object') return typeof value
  return value === null ? 'null' : Array.isArray(value) ? 'array' : isContainer(value) ? 'object' : 'class instance'
}

/** Whether a key is an array index: digits without a leading zero. */
export const isIndex = (key: string): boolean => /^(0|[1-9]\d*)$/.test(key)

/** The value at a key of an object or an index of an array. */
export const childOf = (node: JsonContainer, key: string): Json | undefined =>
  Array.isArray(node) ? (isIndex(key) ? node[Number(key)] : undefined) : getOwn(node, key)

export const shallowCopy = <T extends object>(node: T): T => (Array.isArray(node) ? node.slice() : { ...node }) as T

/** Objects that the holder of this set created and has not exposed, so it may mutate them. */
export type Owned = Set<object> | WeakSet<object>

/** Copy on write: returns the object itself if it is owned, else a shallow copy, which is then owned. */
export function writable<T extends object>(node: T, owned: Owned | undefined): T {
  if (owned?.has(node)) return node
  const copy = shallowCopy(node)
  owned?.add(copy)
  return copy
}

/** Writes at a key or an index. Fills a gap before the index with `null`. */
export function setChild(node: JsonContainer, key: string, value: Json): void {
  if (Array.isArray(node)) while (node.length < Number(key)) node.push(null)
  putOwn(node, key, value)
}

import { getOwn, type Json, type JsonContainer, putOwn } from './value.ts'

/** What a value is, in the words of JSON; `nothing` where there is none. */
export const kindOf = (value: unknown): string =>
  value === undefined ? 'nothing' : value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value

/** Whether a key can address an array: `0` or digits without a leading zero, no larger than a safe integer. */
export function isIndex(key: string): boolean {
  const index = Number(key)
  return Number.isSafeInteger(index) && index >= 0 && String(index) === key
}

/** What stands at a key of an object or at an index of an array, if anything. */
export const childOf = (node: JsonContainer, key: string): Json | undefined =>
  Array.isArray(node) ? (isIndex(key) ? node[Number(key)] : undefined) : getOwn(node, key)

/** Writes a value at a key of an object or at an index of an array. */
export function putChild(node: JsonContainer, key: string, value: Json): void {
  if (Array.isArray(node)) node[Number(key)] = value
  else putOwn(node, key, value)
}

/** The objects that whoever holds this set made and has shown to nobody, so that it may write in them. */
export type Owned = Set<object> | WeakSet<object>

/** Copy on write: a container to write in, which is the given one if it is owned and else a shallow copy that now is. */
export function writable<T extends object>(node: T, owned: Owned): T {
  if (owned.has(node)) return node
  const copy = (Array.isArray(node) ? node.slice() : { ...node }) as T
  owned.add(copy)
  return copy
}

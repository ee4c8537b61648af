// The difference of two states as RFC 6902 operations. The cost grows with the state, but it runs once per step, not
// per delta.

import type { Json, JsonObject, Operation } from '@millrace/protocol'
import { isObject } from '@millrace/protocol/internal'

/** The operations that turn one value into another, in order; empty if they are equal. */
export function diff(from: Json, to: Json): Operation[] {
  const operations: Operation[] = []
  addDiff(operations, from, to, '')
  return operations
}

/** Appends to one list: there may be more operations than a function call takes arguments. */
function addDiff(operations: Operation[], from: Json, to: Json, path: string): void {
  if (from === to) return
  if (isObject(from) && isObject(to)) addObjects(operations, from, to, path)
  else if (Array.isArray(from) && Array.isArray(to)) addArrays(operations, from, to, path)
  else operations.push({ op: 'replace', path, value: to })
}

function addObjects(operations: Operation[], from: JsonObject, to: JsonObject, path: string): void {
  for (const key of Object.keys(from)) {
    if (!Object.hasOwn(to, key)) operations.push({ op: 'remove', path: `${path}/${escaped(key)}` })
  }
  for (const [key, value] of Object.entries(to)) {
    const childPath = `${path}/${escaped(key)}`
    if (Object.hasOwn(from, key)) addDiff(operations, from[key] as Json, value, childPath)
    else operations.push({ op: 'add', path: childPath, value })
  }
}

/** Equal items at both ends stay. Between them, items are replaced pairwise, and the rest is added or removed. */
function addArrays(operations: Operation[], from: readonly Json[], to: readonly Json[], path: string): void {
  let start = 0
  const commonLength = Math.min(from.length, to.length)
  while (start < commonLength && isSame(from[start] as Json, to[start] as Json)) start++
  let end = 0
  while (end < commonLength - start && isSame(from[from.length - 1 - end] as Json, to[to.length - 1 - end] as Json))
    end++
  const oldItems = from.slice(start, from.length - end)
  const newItems = to.slice(start, to.length - end)
  const pairs = Math.min(oldItems.length, newItems.length)
  for (let i = 0; i < pairs; i++) addDiff(operations, oldItems[i] as Json, newItems[i] as Json, `${path}/${start + i}`)
  for (let i = oldItems.length - 1; i >= pairs; i--) operations.push({ op: 'remove', path: `${path}/${start + i}` })
  for (let i = pairs; i < newItems.length; i++) {
    operations.push({ op: 'add', path: `${path}/${start + i}`, value: newItems[i] as Json })
  }
}

/** Deep equality. Stops at the first difference, because arrays compare many items. */
export function isSame(a: Json, b: Json): boolean {
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, i) => isSame(item, b[i] as Json))
  }
  if (!isObject(a) || !isObject(b)) return a === b
  const keys = Object.keys(a)
  return (
    keys.length === Object.keys(b).length &&
    keys.every(key => Object.hasOwn(b, key) && isSame(a[key] as Json, b[key] as Json))
  )
}

const escaped = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1')

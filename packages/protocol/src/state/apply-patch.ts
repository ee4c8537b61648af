import type { Operation } from '../catalogue/chunk.ts'
import { mismatch, show } from '../error/protocol-error.ts'
import { childOf, isIndex, kindOf, writable } from '../json/container.ts'
import { isContainer, type Json, type JsonContainer, type JsonObject, putOwn } from '../json/json.ts'
import { MAX_JSON_DEPTH } from '../json/json-parser.ts'

/** One patch may copy this many characters of keys and strings and other values in all: copies of copies double. */
export const MAX_COPIED = 2 ** 22

/**
 * Equality as JSON sees it: numbers by value, arrays in order, objects whatever the order of their keys. What nests
 * deeper than `MAX_JSON_DEPTH` equals nothing.
 */
function equal(a: Json | undefined, b: Json | undefined, depth = 0): boolean {
  if (!isContainer(a) || !isContainer(b)) return a === b
  const keys = Object.keys(a)
  return (
    depth < MAX_JSON_DEPTH &&
    kindOf(a) === kindOf(b) &&
    keys.length === Object.keys(b).length &&
    keys.every(key => equal(childOf(a, key), childOf(b, key), depth + 1))
  )
}

interface PatchTarget {
  node: JsonContainer
  key: string
  value: Json | undefined
  /** Whether a value had to be here. */
  there: boolean
}

// Written here because none of the libraries is sound: rfc6902 writes in place, cannot replace the root and accepts any
// index; fast-json-patch clones the whole document for each patch, reads inherited keys and refuses or loses `__proto__`;
// immutable-json-patch passes over what is missing and copies once for each operation.

/**
 * The document after a JSON Patch: all of it or, with an `invalid-patch` thrown, nothing. The document given stays as it
 * is; a container on a changed path is copied once. `undefined` is no document: adding at `''` makes one, removing `''` none.
 * More than `MAX_COPIED` is not copied, nor what nests deeper than `MAX_JSON_DEPTH`.
 */
export function applyPatch(document: Json | undefined, operations: readonly Operation[]): Json | undefined {
  // The document is the child '' of a holder: '' is also what stands before the first slash of every pointer.
  const holder = { '': document } as JsonObject
  const owned = new Set<object>()
  let where = ''
  let room = MAX_COPIED

  function fail(expected: string, found: unknown): never {
    throw mismatch('invalid-patch', where, expected, found)
  }

  /** The place that a pointer names; what is on the way is copied, if something is to be written there. */
  function find(pointer: string, there: boolean, writes = true): PatchTarget {
    if (typeof pointer !== 'string' || /^[^/]|~(?![01])/.test(pointer)) fail('a JSON Pointer', show(pointer))
    const tokens = pointer.split('/')
    let node: JsonContainer = holder
    let key = ''
    let value = childOf(node, key)
    for (let i = 1; i < tokens.length; i++) {
      if (!isContainer(value)) fail(`array or object at '${tokens.slice(0, i).join('/')}'`, kindOf(value))
      if (writes) {
        value = writable(value, owned)
        putOwn(node, key, value)
      }
      node = value
      key = (tokens[i] as string).replaceAll('~1', '/').replaceAll('~0', '~')
      value = childOf(node, key)
    }
    if (there && value === undefined) fail(`a value at '${pointer}'`, 'nothing')
    return { node, key, value, there }
  }

  /** Takes out what had to be there, and puts a value in, if one is given. */
  function change({ node, key, there }: PatchTarget, value?: Json): void {
    if (Array.isArray(node)) {
      const index = key === '-' ? `${node.length}` : key
      if (!isIndex(index) || Number(index) > node.length) fail(`an index up to ${node.length}`, `'${key}'`)
      node.splice(Number(index), Number(there), ...(value === undefined ? [] : [value]))
    } else if (value === undefined) {
      delete node[key]
    } else {
      putOwn(node, key, value)
    }
  }

  /** Gives up a value for a copy: what stands in two places may be written in neither. */
  function share(value: Json, depth: number): void {
    room -= typeof value === 'string' ? value.length : 1
    if (room < 0) fail(`at most ${MAX_COPIED} characters in all`, 'more')
    if (!isContainer(value)) return
    if (depth === MAX_JSON_DEPTH) fail(`at most ${depth} levels`, 'more')
    owned.delete(value)
    for (const [key, child] of Object.entries(value)) {
      room -= key.length
      share(child, depth + 1)
    }
  }

  for (const [i, operation] of operations.entries()) {
    const { op, path } = operation
    where = `operation ${i} (${op} '${path}')`
    switch (op) {
      case 'remove':
        change(find(path, true))
        break
      case 'move':
      case 'copy': {
        const from = find(operation.from, true, op === 'move')
        if (op === 'copy') {
          share(from.value as Json, 0)
        } else {
          if (`${path}`.startsWith(`${operation.from}/`)) fail(`array or object at '${operation.from}'`, 'nothing')
          change(from)
        }
        change(find(path, false), from.value)
        break
      }
      case 'add':
      case 'replace':
      case 'test': {
        const place = find(path, op !== 'add', op !== 'test')
        if (operation.value === undefined) fail('a value', 'nothing')
        if (op !== 'test') change(place, operation.value)
        else if (!equal(place.value, operation.value)) fail(`${show(operation.value)}`, show(place.value))
        break
      }
      default:
        fail('an operation of RFC 6902', `'${op}'`)
    }
  }
  return holder['']
}

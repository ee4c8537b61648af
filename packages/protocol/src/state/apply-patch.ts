import type { Operation } from '../catalogue/chunk.ts'
import { mismatch, show } from '../error/protocol-error.ts'
import { childOf, isIndex, kindOf, writable } from '../json/container.ts'
import { isContainer, type Json, type JsonContainer, type JsonObject, putOwn } from '../json/json.ts'
import { MAX_JSON_DEPTH } from '../json/json-parser.ts'

/** The maximum total of characters and values that one patch may copy: copies of copies grow exponentially. */
export const MAX_COPIED = 2 ** 22

/**
 * JSON equality: the order of keys does not matter. Values nested deeper than `MAX_JSON_DEPTH` are never equal.
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
  /** Whether a value must exist here. */
  exists: boolean
}

// Why no library is used: rfc6902 writes in place, cannot replace the root and accepts any index. fast-json-patch clones
// the entire document for each patch, reads inherited keys and rejects or loses `__proto__`. immutable-json-patch ignores
// missing values and copies once for each operation.

/**
 * Applies a JSON Patch (RFC 6902), completely or not at all, and returns the new document. The given document is not changed:
 * each container on a changed path is copied once. `undefined` is no document: adding at `''` creates one, removing `''`
 * returns undefined. Copies are limited to `MAX_COPIED`, and to values nested at most `MAX_JSON_DEPTH` deep.
 * @throws ProtocolError `invalid-patch`, with the operation that failed.
 */
export function applyPatch(document: Json | undefined, operations: readonly Operation[]): Json | undefined {
  // The document is the child '' of a holder, because every pointer starts with an empty segment.
  const holder = { '': document } as JsonObject
  const owned = new Set<object>()
  let where = ''
  let budget = MAX_COPIED

  function fail(expected: string, found: unknown): never {
    throw mismatch('invalid-patch', where, expected, found)
  }

  /** Resolves a pointer. With `writes`, copies the containers on the path. */
  function find(pointer: string, exists: boolean, writes = true): PatchTarget {
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
    if (exists && value === undefined) fail(`a value at '${pointer}'`, 'nothing')
    return { node, key, value, exists }
  }

  /** Removes the existing value, and inserts `value` if given. */
  function change({ node, key, exists }: PatchTarget, value?: Json): void {
    if (Array.isArray(node)) {
      const index = key === '-' ? `${node.length}` : key
      if (!isIndex(index) || Number(index) > node.length) fail(`an index up to ${node.length}`, `'${key}'`)
      node.splice(Number(index), Number(exists), ...(value === undefined ? [] : [value]))
    } else if (value === undefined) {
      delete node[key]
    } else {
      putOwn(node, key, value)
    }
  }

  /** Marks a value as shared, because it now has two parents and must not be mutated. */
  function share(value: Json, depth: number): void {
    budget -= typeof value === 'string' ? value.length : 1
    if (budget < 0) fail(`at most ${MAX_COPIED} characters in all`, 'more')
    if (!isContainer(value)) return
    if (depth === MAX_JSON_DEPTH) fail(`at most ${depth} levels`, 'more')
    owned.delete(value)
    for (const [key, child] of Object.entries(value)) {
      budget -= key.length
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
        const target = find(path, op !== 'add', op !== 'test')
        if (operation.value === undefined) fail('a value', 'nothing')
        if (op !== 'test') change(target, operation.value)
        else if (!equal(target.value, operation.value)) fail(`${show(operation.value)}`, show(target.value))
        break
      }
      default:
        fail('an operation of RFC 6902', `'${op}'`)
    }
  }
  return holder['']
}

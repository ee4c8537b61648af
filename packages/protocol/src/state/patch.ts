import type { Operation } from '../catalogue/chunk.ts'
import { ProtocolError } from '../error.ts'
import { childOf, isIndex, kindOf, putChild, writable } from '../json/container.ts'
import { isContainer, type Json, type JsonContainer, type JsonObject } from '../json/value.ts'

/** Equality as JSON sees it: numbers by value, arrays in order, objects whatever the order of their keys. */
function equal(a: Json, b: Json): boolean {
  if (a === b) return true
  if (!isContainer(a) || !isContainer(b) || Array.isArray(a) !== Array.isArray(b)) return false
  const keys = Object.keys(a)
  return (
    keys.length === Object.keys(b).length &&
    keys.every(key => Object.hasOwn(b, key) && equal((a as JsonObject)[key] as Json, (b as JsonObject)[key] as Json))
  )
}

const show = (value: Json, which: string): string =>
  isContainer(value) ? `${which} ${kindOf(value)}` : JSON.stringify(value)

// Written here because none of the libraries is sound, measured on 26 cases of the RFC and of prototype keys: rfc6902 5.3.0
// fails 14 (writes in place, cannot replace the root, accepts any index), fast-json-patch 3.1.1 fails 7 (clones the whole
// document for each patch, reads inherited keys, refuses or loses `__proto__`), immutable-json-patch 6.0.3 fails 16 (passes
// over what is missing, copies once for each operation). They weigh 3.1, 3.8 and 1.4 KB gzipped; this is 1.3 KB.

/**
 * The document after a JSON Patch: all of it or, with an `invalid-patch` thrown, nothing. The document given stays as it
 * is; a container on a changed path is copied once. `undefined` is no document: adding at `''` makes one, removing `''` none.
 */
export function applyPatch(document: Json | undefined, operations: readonly Operation[]): Json | undefined {
  // The document is the child '' of a holder: '' is also what stands before the first slash of every pointer.
  const holder: JsonObject = document === undefined ? {} : { '': document }
  const owned = new Set<object>()
  let index = 0

  function fail(pointer: string, expected: string, found: string): never {
    const { op, path } = operations[index] as Operation
    const at = pointer ? ` at '${pointer}'` : ''
    throw new ProtocolError(
      'invalid-patch',
      `operation ${index} (${op} '${path}'): expected ${expected}${at}, found ${found}`,
    )
  }

  /** The container of what a pointer names, and the key in it; copied, with all above it, if it is to be written. */
  function reach(pointer: string, write: boolean): [JsonContainer, string] {
    if (typeof pointer !== 'string' || (pointer && pointer[0] !== '/') || /~(?![01])/.test(pointer)) {
      fail('', 'a JSON Pointer', JSON.stringify(pointer))
    }
    const tokens = pointer.split('/')
    let node: JsonContainer = holder
    let key = ''
    for (let i = 1; i < tokens.length; i++) {
      const child = childOf(node, key)
      if (!isContainer(child)) fail(tokens.slice(0, i).join('/'), 'array or object', kindOf(child))
      const next: JsonContainer = write ? writable(child, owned) : child
      if (next !== child) putChild(node, key, next)
      node = next
      key = (tokens[i] as string).replaceAll('~1', '/').replaceAll('~0', '~')
    }
    return [node, key]
  }

  function get(pointer: string, [node, key]: [JsonContainer, string]): Json {
    const value = childOf(node, key)
    return value === undefined ? fail(pointer, 'a value', 'nothing') : value
  }

  function add(pointer: string, value: Json): void {
    const [node, key] = reach(pointer, true)
    if (Array.isArray(node)) {
      const at = key === '-' ? node.length : isIndex(key) ? Number(key) : Number.NaN
      if (!(at <= node.length)) fail(pointer, `an index up to ${node.length}`, `'${key}'`)
      node.splice(at, 0, value)
    } else {
      putChild(node, key, value)
    }
  }

  function remove(pointer: string): Json {
    const place = reach(pointer, true)
    const value = get(pointer, place)
    const [node, key] = place
    if (Array.isArray(node)) node.splice(Number(key), 1)
    else delete node[key]
    return value
  }

  for (const operation of operations) {
    const { op, path } = operation
    const valued = op === 'add' || op === 'replace' || op === 'test'
    if (valued && operation.value === undefined) fail('', 'a value', 'none')
    switch (op) {
      case 'add':
        add(path, operation.value)
        break
      case 'remove':
        remove(path)
        break
      case 'replace': {
        const place = reach(path, true)
        get(path, place)
        putChild(...place, operation.value)
        break
      }
      case 'move': {
        const { from } = operation
        const value = remove(from)
        if (`${path}`.startsWith(`${from}/`)) fail(from, 'to move elsewhere than into itself', `'${path}'`)
        add(path, value)
        break
      }
      case 'copy': {
        const value = get(operation.from, reach(operation.from, false))
        owned.clear() // what now stands in two places may be written in neither
        add(path, value)
        break
      }
      case 'test': {
        const found = get(path, reach(path, false))
        if (!equal(found, operation.value)) fail(path, show(operation.value, 'the given'), show(found, 'another'))
        break
      }
      default:
        fail('', 'an operation of RFC 6902', `'${op}'`)
    }
    index++
  }
  return holder['']
}

import type { Operation } from '../catalogue/chunk.ts'
import type { Json } from '../json/json.ts'
import { clone } from '../structured/structured-model.fixture.ts'

/** A simple model of RFC 6902: clone everything, find the parent of each path, assign. Throws 'refused'. */
export function patchNaively(document: Json, operations: readonly Operation[]): Json {
  const root: { value?: Json } = { value: clone(document) }
  type Holder = { [key: string]: Json }
  const find = (pointer: string): [Holder, string] => {
    const keys = ['value', ...pointer.split('/').slice(1)].map(key => key.split('~1').join('/').split('~0').join('~'))
    const last = keys.pop() as string
    let node: unknown = root
    for (const key of keys) {
      if (typeof node !== 'object' || node === null || !Object.keys(node).includes(key)) throw 'refused'
      node = Object.entries(node).find(([name]) => name === key)?.[1]
    }
    if (typeof node !== 'object' || node === null) throw 'refused'
    return [node as Holder, last]
  }
  const there = (pointer: string): Json => {
    const [node, key] = find(pointer)
    const entry = Object.entries(node).find(([name]) => name === key)
    if (!entry) throw 'refused'
    return entry[1]
  }
  const put = (node: Holder, key: string, value: Json) =>
    Object.defineProperty(node, key, { value, enumerable: true, writable: true, configurable: true })
  const insert = (pointer: string, value: Json) => {
    const [node, key] = find(pointer)
    if (!Array.isArray(node)) {
      put(node, key, value)
      return
    }
    const index = key === '-' ? node.length : Number(key)
    if (key !== '-' && !Array.from({ length: node.length + 1 }, (_, i) => String(i)).includes(key)) throw 'refused'
    node.splice(index, 0, value)
  }
  const drop = (pointer: string): Json => {
    const value = there(pointer)
    const [node, key] = find(pointer)
    if (Array.isArray(node)) node.splice(Number(key), 1)
    else delete node[key]
    return value
  }
  const canonical = (value: Json): string =>
    JSON.stringify(value, (_, one) =>
      one && typeof one === 'object' && !Array.isArray(one)
        ? ['an object', ...Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1))]
        : one,
    )
  for (const operation of operations) {
    if (operation.op === 'add') insert(operation.path, clone(operation.value))
    else if (operation.op === 'remove') drop(operation.path)
    else if (operation.op === 'replace') {
      there(operation.path)
      const [node, key] = find(operation.path)
      put(node, key, clone(operation.value))
    } else if (operation.op === 'copy') insert(operation.path, clone(there(operation.from)))
    else if (operation.op === 'test') {
      if (canonical(there(operation.path)) !== canonical(operation.value)) throw 'refused'
    } else {
      if (operation.path.startsWith(`${operation.from}/`)) throw 'refused'
      insert(operation.path, drop(operation.from))
    }
  }
  return root.value as Json
}

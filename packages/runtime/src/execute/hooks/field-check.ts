// Whether a declared field can ever arrive: one that the schema has not would be waited for in vain.

import { isObject } from '@millrace/protocol/internal'
/** Whether a schema may have something at a dotted path; true, where it does not tell. */
export function mayHave(root: unknown, path: string): boolean {
  return find(root, path.split('.'), 0)

  function find(schema: unknown, keys: readonly string[], turns: number): boolean {
    const [key, ...rest] = keys
    if (key === undefined || !isObject(schema)) return schema !== false
    const { $ref, type, properties, items, additionalProperties } = schema
    if ($ref !== undefined) {
      const target = targetOf($ref)
      return target === undefined || turns > MOST_TURNS || find(target, keys, turns + 1)
    }
    const choices = [schema['anyOf'], schema['oneOf'], schema['allOf']].flatMap(some =>
      Array.isArray(some) ? some : [],
    )
    if (choices.length > 0) return choices.some(one => find(one, keys, turns))
    const types: readonly unknown[] = Array.isArray(type) ? type : [type]
    if (types.includes(undefined)) return true
    const isItem = types.includes('array') && (key === '*' || /^\d+$/.test(key))
    if (isItem && (Array.isArray(items) || find(items, rest, turns))) return true
    if (!types.includes('object')) return false
    const named = isObject(properties) ? properties : {}
    const own = key === '*' ? Object.values(named) : Object.hasOwn(named, key) ? [named[key]] : []
    if (own.some(one => find(one, rest, turns))) return true
    if (schema['patternProperties'] !== undefined) return true
    // Where fields are named, others that nobody speaks of are none.
    if (additionalProperties === undefined) return !isObject(properties)
    return (own.length === 0 || key === '*') && find(additionalProperties, rest, turns)
  }

  function targetOf(ref: unknown): unknown {
    if (ref === '#') return root
    const [, holder = '', name = ''] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(String(ref)) ?? []
    const held = isObject(root) ? root[holder] : undefined
    return isObject(held) ? held[name] : undefined
  }
}

/** References that lead to references come to an end somewhere, or never. */
const MOST_TURNS = 16

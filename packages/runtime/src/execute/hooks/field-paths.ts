// Types of the fields of an object: dotted paths with `*` for any key or index, and the kinds of updates of each.

import type { FieldKind, Fields } from '@millrace/protocol'
import { isObject } from '@millrace/protocol/internal'

/** The allowed update kinds of fields, by path; any if the type is unknown. */
export type FieldsOf<T> = unknown extends T ? Fields : { readonly [E in FieldIn<T, '', []> as E[0]]?: E[1] }

type FieldIn<T, Before extends string, Depth extends unknown[]> = T extends readonly (infer Item)[]
  ? Field<`${Before}${'*' | number}`, Item, Depth>
  : T extends object
    ? string extends keyof T
      ? AnyField<Before>
      : { [K in keyof T & string]: Field<`${Before}${K | '*'}`, T[K], Depth> }[keyof T & string]
    : never

/** Beyond the maximum depth any path is allowed. */
type Field<Path extends string, T, Depth extends unknown[]> = Depth['length'] extends 5
  ? [Path, FieldKind] | AnyField<`${Path}.`>
  : [Path, KindOf<NonNullable<T>>] | FieldIn<NonNullable<T>, `${Path}.`, [...Depth, unknown]>

type AnyField<Before extends string> = [`${Before}${string}`, FieldKind]

type KindOf<T> = unknown extends T
  ? FieldKind
  : 'set' | (T extends string ? 'text-delta' : T extends readonly unknown[] ? 'append' : never)

/** Whether a schema may have a value at a dotted path; true if the schema does not determine it. */
export function mayHaveField(root: unknown, path: string): boolean {
  return find(root, path.split('.'), 0)

  function find(schema: unknown, keys: readonly string[], references: number): boolean {
    const [key, ...rest] = keys
    if (key === undefined || !isObject(schema)) return schema !== false
    const { $ref, type, properties, items, additionalProperties } = schema
    if ($ref !== undefined) {
      const target = targetOf($ref)
      return target === undefined || references > MAX_REFERENCES || find(target, keys, references + 1)
    }
    const choices = [schema['anyOf'], schema['oneOf'], schema['allOf']].flatMap(schemas =>
      Array.isArray(schemas) ? schemas : [],
    )
    if (choices.length > 0) return choices.some(choice => find(choice, keys, references))
    const types: readonly unknown[] = Array.isArray(type) ? type : [type]
    if (types.includes(undefined)) return true
    const isItem = types.includes('array') && (key === '*' || /^\d+$/.test(key))
    if (isItem && (Array.isArray(items) || find(items, rest, references))) return true
    if (!types.includes('object')) return false
    const named = isObject(properties) ? properties : {}
    const children = key === '*' ? Object.values(named) : Object.hasOwn(named, key) ? [named[key]] : []
    if (children.some(child => find(child, rest, references))) return true
    if (schema['patternProperties'] !== undefined) return true
    // With named properties, unmentioned ones are not expected.
    if (additionalProperties === undefined) return !isObject(properties)
    return (children.length === 0 || key === '*') && find(additionalProperties, rest, references)
  }

  function targetOf(ref: unknown): unknown {
    if (ref === '#') return root
    const [, keyword = '', name = ''] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(String(ref)) ?? []
    const definitions = isObject(root) ? root[keyword] : undefined
    return isObject(definitions) ? definitions[name] : undefined
  }
}

/** Maximum depth of references, which may be circular. */
const MAX_REFERENCES = 16

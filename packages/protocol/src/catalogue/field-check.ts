// Checks that are built from the catalogue. They are closures without code generation, so they work under a strict CSP.
//
// A check returns undefined for a valid value, else the path and the problem. The text is built only for an invalid value.

import { isObject } from '../json/json.ts'
import type { Row } from './catalogue.ts'
import { type FieldTypes, type Kinds, type NamedType, types } from './field-types.ts'

export type Check = (value: unknown) => string | undefined

const describeValue = (value: unknown): string => {
  const type = typeof value
  if (type === 'number' || type === 'boolean' || value === null) return String(value)
  return Array.isArray(value) ? 'array' : type
}

const expected = (name: string, value: unknown): string =>
  `: expected ${name}, found ${typeof value === 'string' && name.includes('|') ? JSON.stringify(value.slice(0, 40)) : describeValue(value)}`

/** Shallow check for JSON. Nested values come from a parser or are serialized by the store. */
const isJson = (value: unknown): boolean => {
  const type = typeof value
  return type === 'object' || type === 'string' || type === 'boolean' || Number.isFinite(value)
}

const basic = (name: string, test: (value: unknown) => boolean, label = name): [name: string, check: Check] => [
  name,
  value => (test(value) ? undefined : expected(label, value)),
]

const integer = (name: string, min: number) =>
  basic(name, value => Number.isSafeInteger(value) && (value as number) >= min, `integer from ${min}`)

const checks = new Map([
  basic('string', value => typeof value === 'string'),
  basic('number', Number.isFinite),
  integer('count', 0),
  integer('sequence', 1),
  basic('boolean', value => typeof value === 'boolean'),
  basic('true', value => value === true),
  basic('1', value => value === 1),
  basic('json', isJson),
  basic('object', isObject),
])

/** The check of a field type by its name. Cached. */
export function checkOf(name: string): Check {
  const check = checks.get(name) ?? newCheck(name)
  checks.set(name, check)
  return check
}

function newCheck(name: string): Check {
  const item = (suffix: string): Check => checkOf(name.slice(0, -suffix.length))
  if (name.endsWith('?')) return optional(item('?'))
  if (name.endsWith('[]')) return arrayOf(item('[]'))
  return name.endsWith('{}') ? recordOf(item('{}')) : named(types[name as keyof typeof types])
}

/** Accepts undefined, else applies the check. */
export const optional =
  (check: Check): Check =>
  value =>
    value === undefined ? undefined : check(value)

/** Checks an array item by item. The item check also gets the index. */
export function arrayOf(item: (value: unknown, index: number) => string | undefined): Check {
  return value => {
    if (!Array.isArray(value)) return expected('array', value)
    for (let i = 0; i < value.length; i++) {
      const problem = item(value[i], i)
      if (problem !== undefined) return `[${i}]${problem}`
    }
    return undefined
  }
}

function recordOf(item: Check): Check {
  return value => {
    if (!isObject(value)) return expected('object', value)
    for (const key of Object.keys(value)) {
      const problem = item(value[key])
      if (problem !== undefined) return `[${JSON.stringify(key)}]${problem}`
    }
    return undefined
  }
}

function named(type: NamedType): Check {
  if ('on' in type) return kindsCheck(type)
  if ('fields' in type) return fieldsCheck(type.fields)
  const values: readonly unknown[] = type as readonly string[]
  return value => (values.includes(value) ? undefined : expected(values.join(' | '), value))
}

function kindsCheck({ on, kinds, open }: Kinds): Check {
  const byKind = new Map<unknown, Check>(Object.entries(kinds).map(([kind, fields]) => [kind, fieldsCheck(fields)]))
  return value => {
    if (!isObject(value)) return expected('object', value)
    const kind = value[on]
    const isOpen = open && typeof kind === 'string'
    const check = byKind.get(isOpen && kind.startsWith('data-') ? 'data-*' : kind)
    if (check !== undefined) return check(value)
    return isOpen ? undefined : `.${on}${expected(open ? 'string' : [...byKind.keys()].join(' | '), kind)}`
  }
}

/** Checks the listed fields of an object. `overrides` replaces the checks of some. Unlisted fields are ignored. */
export function fieldsCheck(fields: FieldTypes, overrides: { readonly [name: string]: Check } = {}): Check {
  const names = Object.keys(fields)
  const tests = names.map(name => overrides[name] ?? checkOf((fields[name] as string).replace('?', '')))
  const optional = names.map(name => (fields[name] as string).endsWith('?'))
  return value => {
    if (!isObject(value)) return expected('object', value)
    for (let i = 0; i < names.length; i++) {
      const name = names[i] as string
      const field = value[name]
      // A fast path: most optional fields are missing.
      if (field === undefined && optional[i]) continue
      const problem = (tests[i] as Check)(field)
      if (problem !== undefined) return `.${name}${problem}`
    }
    return undefined
  }
}

/** Checks a chunk by its row of the catalogue. */
export function rowCheck({ fields, kinds }: Row): Check {
  const common = fieldsCheck(fields)
  if (kinds === undefined) return common
  const byKind = kindsCheck({ on: 'kind', kinds })
  return value => common(value) ?? byKind(value)
}

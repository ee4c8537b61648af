// Checks built from the table when the module loads: closures over plain data, no code generation, so that a strict CSP is no hindrance.
//
// A check returns undefined for a good value, and else the place and the reason, built from the inside out so that a good value costs
// no string at all.

import { isObject } from '../json/json.ts'
import type { Row } from './catalogue.ts'
import { type FieldTypes, type Kinds, type NamedType, types } from './field-types.ts'

export type Check = (value: unknown) => string | undefined

const found = (value: unknown): string => {
  const type = typeof value
  if (type === 'number' || type === 'boolean' || value === null) return String(value)
  return Array.isArray(value) ? 'array' : type
}

const expected = (name: string, value: unknown): string =>
  `: expected ${name}, found ${typeof value === 'string' && name.includes('|') ? JSON.stringify(value.slice(0, 40)) : found(value)}`

/** JSON as far as one look can tell; what lies inside came from a parser or meets one at the store. */
const isJson = (value: unknown): boolean => {
  const type = typeof value
  return type === 'object' || type === 'string' || type === 'boolean' || Number.isFinite(value)
}

const basic = (name: string, test: (value: unknown) => boolean, words = name): [name: string, check: Check] => [
  name,
  value => (test(value) ? undefined : expected(words, value)),
]

const integer = (name: string, least: number) =>
  basic(name, value => Number.isSafeInteger(value) && (value as number) >= least, `integer from ${least}`)

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

/** The check of a field's type by its name, made once. */
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

/** The check of a value that may be missing. */
export const optional =
  (check: Check): Check =>
  value =>
    value === undefined ? undefined : check(value)

/** The check of an array by that of its items, which is also told the index. */
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

/** The check of an object by its fields, some with checks of their `own`; a field that the table does not name is kept and not looked at. */
export function fieldsCheck(fields: FieldTypes, own: { readonly [name: string]: Check } = {}): Check {
  const names = Object.keys(fields)
  const tests = names.map(name => own[name] ?? checkOf((fields[name] as string).replace('?', '')))
  const optional = names.map(name => (fields[name] as string).endsWith('?'))
  return value => {
    if (!isObject(value)) return expected('object', value)
    for (let i = 0; i < names.length; i++) {
      const name = names[i] as string
      const field = value[name]
      // Not left to the check, because most of what may be missing is.
      if (field === undefined && optional[i]) continue
      const problem = (tests[i] as Check)(field)
      if (problem !== undefined) return `.${name}${problem}`
    }
    return undefined
  }
}

/** The check of a row of the catalogue. */
export function rowCheck({ fields, kinds }: Row): Check {
  const common = fieldsCheck(fields)
  if (kinds === undefined) return common
  const byKind = kindsCheck({ on: 'kind', kinds })
  return value => common(value) ?? byKind(value)
}

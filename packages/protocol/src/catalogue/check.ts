// Checks built from the table when the module loads: closures over plain data, no code generation, so that a strict CSP is no hindrance.
//
// A check returns undefined for a good value, and else the place and the reason, built from the inside out so that a good value costs
// no string at all.

import type { Row } from './table.ts'
import { type Fields, type Kinds, type NamedType, types } from './types.ts'

export type Check = (value: unknown) => string | undefined

type Unknowns = { readonly [key: string]: unknown }

const found = (value: unknown): string => {
  const type = typeof value
  if (type === 'number' || type === 'boolean' || value === null) return String(value)
  return Array.isArray(value) ? 'array' : type
}

const expected = (name: string, value: unknown): string =>
  `: expected ${name}, found ${typeof value === 'string' && name.includes('|') ? JSON.stringify(value.slice(0, 40)) : found(value)}`

/** Whether a value is an object and no array. */
export const isObject = (value: unknown): value is Unknowns =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const basic =
  (name: string, test: (value: unknown) => boolean): Check =>
  value =>
    test(value) ? undefined : expected(name, value)

const integerFrom = (least: number): Check =>
  basic(`integer from ${least}`, value => Number.isSafeInteger(value) && (value as number) >= least)

/** JSON as far as one look can tell; what lies inside came from a parser or meets one at the store. */
const isJson = (value: unknown): boolean => {
  const type = typeof value
  return type === 'object' || type === 'string' || type === 'boolean' || Number.isFinite(value)
}

const checks = new Map<string, Check>([
  ['string', basic('string', value => typeof value === 'string')],
  ['number', basic('number', Number.isFinite)],
  ['count', integerFrom(0)],
  ['sequence', integerFrom(1)],
  ['boolean', basic('boolean', value => typeof value === 'boolean')],
  ['true', basic('true', value => value === true)],
  ['1', basic('1', value => value === 1)],
  ['json', basic('json', isJson)],
  ['object', basic('object', isObject)],
])

/** The check of a field's type by its name, made once. */
export function checkOf(name: string): Check {
  const check = checks.get(name) ?? newCheck(name)
  checks.set(name, check)
  return check
}

function newCheck(name: string): Check {
  const item = name.slice(0, -2)
  if (name.endsWith('[]')) return arrayOf(checkOf(item))
  return name.endsWith('{}') ? recordOf(checkOf(item)) : named(types[name as keyof typeof types])
}

function arrayOf(item: Check): Check {
  return value => {
    if (!Array.isArray(value)) return expected('array', value)
    for (let i = 0; i < value.length; i++) {
      const problem = item(value[i])
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
  const values: ReadonlySet<unknown> = new Set(type as readonly string[])
  const name = (type as readonly string[]).join(' | ')
  return value => (values.has(value) ? undefined : expected(name, value))
}

function kindsCheck({ on, kinds, open }: Kinds): Check {
  const byKind = new Map(Object.entries(kinds).map(([kind, fields]) => [kind, fieldsCheck(fields)]))
  const name = [...byKind.keys()].join(' | ')
  return value => {
    if (!isObject(value)) return expected('object', value)
    const kind = value[on]
    if (typeof kind !== 'string') return `.${on}${expected(open ? 'string' : name, kind)}`
    const check = byKind.get(kind) ?? (kind.startsWith('data-') ? byKind.get('data-*') : undefined)
    return check !== undefined ? check(value) : open ? undefined : `.${on}${expected(name, kind)}`
  }
}

/** The check of an object by its fields; a field that the table does not name is kept and not looked at. */
export function fieldsCheck(fields: Fields): Check {
  const names = Object.keys(fields)
  const tests = names.map(name => checkOf((fields[name] as string).replace('?', '')))
  const optional = names.map(name => (fields[name] as string).endsWith('?'))
  return value => {
    if (!isObject(value)) return expected('object', value)
    for (let i = 0; i < names.length; i++) {
      const name = names[i] as string
      const field = value[name]
      if (field === undefined && optional[i]) continue
      const problem = (tests[i] as Check)(field)
      if (problem !== undefined) return `.${name}${problem}`
    }
    return undefined
  }
}

/** The check of a row of the catalogue. */
export function rowCheck(row: Row): Check {
  const common = fieldsCheck(row.fields)
  if (row.kinds === undefined) return common
  const byKind = kindsCheck({ on: 'kind', kinds: row.kinds })
  return value => common(value) ?? byKind(value)
}

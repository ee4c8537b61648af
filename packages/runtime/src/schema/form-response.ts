// What fits the JSON Schema of a form: told where the answer is given, in whatever process that is, and whoever wrote the schema; a model may have.

import { type OutputUnit, type SchemaDraft, Validator } from '@cfworker/json-schema'
import { ValidationError } from '../error/error.ts'
import { excerpt } from '../error/excerpt.ts'
import { checkSchemaSize } from './check-schema-size.ts'
import { SUBSCHEMA_KEYWORDS, SUBSCHEMA_LIST_KEYWORDS, SUBSCHEMA_MAP_KEYWORDS } from './keywords.ts'
import { relaxSchema } from './relax-schema.ts'
import { runWithTimeout } from './run-with-timeout.ts'
import type { JsonSchema } from './schema.ts'

/** The largest schema of a form, as JSON, and how deep it may go. */
export const MAX_FORM_LENGTH = 64 * 1024
export const MAX_FORM_DEPTH = 64
/** How long a check may hold up the process. */
export const FORM_CHECK_TIMEOUT_MS = 250

/** As many problems are told, and as much of each and of its place. */
const MAX_REPORTED_PROBLEMS = 10
const MAX_PROBLEM_LENGTH = 200

/** Values of each kind: a schema that cannot tell of these whether they fit can tell of nothing. */
const PROBES = [null, true, 0, '', [], {}]

/** Throws, with the reason, where nothing could be checked by the schema of a form, so that nobody is asked what nobody could answer. */
export function checkFormSchema(schema: unknown, what: string): void {
  try {
    for (const probe of PROBES) problemsOf(schema, probe)
  } catch (error) {
    throw new ValidationError(`${what}: expected a JSON Schema that answers can be checked by: ${reasonOf(error)}`)
  }
}

/** What is wrong with the answer to a form, place by place; nothing where it fits. Never throws: what cannot be checked does not fit. */
export function formResponseProblem(schema: unknown, response: unknown): string | undefined {
  let problems: readonly string[]
  try {
    problems = problemsOf(schema, response)
  } catch (error) {
    return `the answer cannot be checked by the form's schema: ${reasonOf(error)}`
  }
  return problems.length > 0 ? `the answer does not fit the form: ${problems.join('; ')}` : undefined
}

function problemsOf(schema: unknown, response: unknown): readonly string[] {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) {
    throw new ValidationError('it is no object')
  }
  checkSchemaSize(schema, MAX_FORM_LENGTH, MAX_FORM_DEPTH)
  return runWithTimeout(FORM_CHECK_TIMEOUT_MS, 'checked', () => {
    // A copy, because a validator writes into what it is given.
    const { valid, errors } = new Validator(validatorSchema(schema as JsonSchema), draftOf(schema)).validate(response)
    return valid ? [] : describeErrors(errors)
  })
}

/** Why a check came to nothing, in words that hold neither the schema nor the answer. */
function reasonOf(error: unknown): string {
  if (error instanceof ValidationError) return error.message
  // No room is left: on the stack for what refers to itself, or for the problems of what asks for the same ever more often.
  if (error instanceof RangeError) return 'it cannot be checked: it refers to itself, or to the same too often'
  return 'a reference in it leads nowhere, or it is no JSON Schema'
}

/** Which JSON Schema it is; the latest, if it does not say. */
function draftOf({ $schema }: { readonly $schema?: unknown }): SchemaDraft {
  const name = typeof $schema === 'string' ? $schema : ''
  if (name.includes('draft-07') || name.includes('draft-06')) return '7'
  if (name.includes('draft-04')) return '4'
  return name.includes('2019-09') ? '2019-09' : '2020-12'
}

/** A copy of a schema that a validator takes. Where it has a regular expression that is none, only what does not depend on those is left. */
function validatorSchema(schema: JsonSchema): JsonSchema {
  try {
    return copySchema(schema) as JsonSchema
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    return structuredClone(relaxSchema(schema).schema)
  }
}

function copySchema(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null) return schema
  const copies = Object.entries(schema).flatMap(([keyword, value]): [string, unknown][] => {
    // For who shows the form: what is checked by it is not the same everywhere.
    if (keyword === 'format') return []
    if (keyword === 'pattern') return [[keyword, strictPattern(value)]]
    if (keyword === 'patternProperties') return [[keyword, copySchemaMap(value, strictPattern)]]
    if (SUBSCHEMA_MAP_KEYWORDS.has(keyword)) return [[keyword, copySchemaMap(value)]]
    if (SUBSCHEMA_LIST_KEYWORDS.has(keyword) && Array.isArray(value)) return [[keyword, value.map(copySchema)]]
    return [[keyword, SUBSCHEMA_KEYWORDS.has(keyword) ? copySchema(value) : structuredClone(value)]]
  })
  return Object.fromEntries(copies)
}

function copySchemaMap(schemas: unknown, nameOf = (name: string): string => name): unknown {
  const copies = Object.entries(Object(schemas) as object)
  return Object.fromEntries(
    copies.map(([name, own]) => [nameOf(name), Array.isArray(own) ? structuredClone(own) : copySchema(own)]),
  )
}

/** A regular expression as a validator takes it: strictly, so that a character which means nothing else is not escaped. Throws where it is none. */
function strictPattern(pattern: unknown): string {
  const text = String(pattern)
  try {
    new RegExp(text, 'u')
    return text
  } catch {
    const strict = text.replace(ESCAPED, (escaped, character: string) => (character ? character : escaped))
    new RegExp(strict, 'u')
    return strict
  }
}

/** Classes, which stay as they are, and what is escaped; apart, what need not be. */
const ESCAPED = /\[(?:\\.|[^\]\\])*\]|\\([-_!"#%&',:;<=>@`~ ])|\\./gs

/** Keywords that only say that something below is wrong. */
const CONTAINER_KEYWORDS = new Set([
  '$ref',
  '$recursiveRef',
  'additionalItems',
  'additionalProperties',
  'allOf',
  'anyOf',
  'dependentSchemas',
  'if',
  'items',
  'oneOf',
  'patternProperties',
  'prefixItems',
  'properties',
  'propertyNames',
  'unevaluatedItems',
  'unevaluatedProperties',
])

function describeErrors(errors: readonly OutputUnit[]): readonly string[] {
  const below = errors.filter(({ keyword }) => !CONTAINER_KEYWORDS.has(keyword))
  const told = (below.length > 0 ? below : errors).map(unit => {
    const place = pathOf(unit.instanceLocation)
    const words = describeError(unit)
    return place === '' ? words : `${place}: ${words}`
  })
  return [...new Set(told)].slice(0, MAX_REPORTED_PROBLEMS)
}

/** `#/lines/0/price` as `lines.0.price`. */
function pathOf(location: string): string {
  const names = location.split('/').slice(1)
  const place = names.map(name => decodeURI(name).replaceAll('~1', '/').replaceAll('~0', '~')).join('.')
  return excerpt(place, MAX_PROBLEM_LENGTH)
}

/** What is wrong, without the value that is. */
function describeError({ keyword, error }: OutputUnit): string {
  if (keyword === 'false') return 'nothing is expected here'
  if (keyword === 'type') return `expected ${(/Expected "(.+)"\.$/.exec(error)?.[1] ?? '').replaceAll('", "', ' or ')}`
  const words = error.replace(/\.$/, '')
  return excerpt(NUMERIC_KEYWORDS.has(keyword) ? words.slice(words.indexOf(' ') + 1) : words, MAX_PROBLEM_LENGTH)
}

/** Keywords whose words begin with the number that was given. */
const NUMERIC_KEYWORDS = new Set(['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'])

// Validates the response to an interrupt against the JSON Schema of its form. The schema is untrusted: a model may have
// written it. The check runs in the process that receives the response.

import { type OutputUnit, type SchemaDraft, Validator } from '@cfworker/json-schema'
import { excerpt } from '@millrace/protocol/internal'
import { ValidationError } from '../error/error.ts'
import { SUBSCHEMA_KEYWORDS, SUBSCHEMA_LIST_KEYWORDS, SUBSCHEMA_MAP_KEYWORDS } from './keywords.ts'
import { checkSchemaSize, relaxSchema } from './relax-schema.ts'
import { runWithTimeout } from './run-with-timeout.ts'
import type { JsonSchema } from './schema.ts'

/** Maximum length of a form's schema, in characters of JSON. */
export const MAX_FORM_LENGTH = 64 * 1024
/** Maximum nesting of a form's schema, in objects and arrays. */
export const MAX_FORM_DEPTH = 64
/** Maximum time of a check, in ms. It blocks the process. */
export const FORM_CHECK_TIMEOUT_MS = 250

/** Maximum number of problems in a message. */
const MAX_REPORTED_PROBLEMS = 10
/** Maximum length of each problem and of its path, in characters. */
const MAX_PROBLEM_LENGTH = 200

/** A value of each JSON type. A schema is usable if it can check all of them. */
const PROBES = [null, true, 0, '', [], {}]

/** @throws {ValidationError} if no response can be checked with the schema of a form, because then none could be accepted. */
export function checkFormSchema(schema: unknown, label: string): void {
  try {
    for (const probe of PROBES) problemsOf(schema, probe)
  } catch (error) {
    throw new ValidationError(`${label}: expected a JSON Schema that can check responses: ${reasonOf(error)}`)
  }
}

/** The problems of a response with their paths; undefined if it is valid. Never throws: a failed check is a problem. */
export function formResponseProblem(schema: unknown, response: unknown): string | undefined {
  let problems: readonly string[]
  try {
    problems = problemsOf(schema, response)
  } catch (error) {
    return `the response cannot be checked with the form’s schema: ${reasonOf(error)}`
  }
  return problems.length > 0 ? `the response does not match the form: ${problems.join('; ')}` : undefined
}

function problemsOf(schema: unknown, response: unknown): readonly string[] {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) {
    throw new ValidationError('it is not an object')
  }
  checkSchemaSize(schema, MAX_FORM_LENGTH, MAX_FORM_DEPTH)
  return runWithTimeout(FORM_CHECK_TIMEOUT_MS, 'checked', () => {
    // Passes a copy, because the validator changes the schema.
    const { valid, errors } = new Validator(validatorSchema(schema as JsonSchema), draftOf(schema)).validate(response)
    return valid ? [] : describeErrors(errors)
  })
}

/** Why a check failed, without quoting the schema or the response. */
function reasonOf(error: unknown): string {
  if (error instanceof ValidationError) return error.message
  // A stack overflow by a self-reference, or a list of problems that exceeds the maximum length of an array.
  if (error instanceof RangeError)
    return 'it cannot be checked: it refers to itself, or repeats a reference too many times'
  return 'it has a reference without a target, or is not a JSON Schema'
}

/** The draft of a schema. @default '2020-12' */
function draftOf({ $schema }: { readonly $schema?: unknown }): SchemaDraft {
  const name = typeof $schema === 'string' ? $schema : ''
  if (name.includes('draft-07') || name.includes('draft-06')) return '7'
  if (name.includes('draft-04')) return '4'
  return name.includes('2019-09') ? '2019-09' : '2020-12'
}

/** A copy of a schema for the validator. If it has an invalid regular expression, the copy has none at all. */
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
    // `format` is only a hint for the UI: validators disagree on what it checks.
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
    copies.map(([name, subschema]) => [
      nameOf(name),
      Array.isArray(subschema) ? structuredClone(subschema) : copySchema(subschema),
    ]),
  )
}

/** Removes escapes that the `u` flag of the validator rejects. @throws {SyntaxError} if the pattern is not valid. */
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

/** Character classes and escapes. The group captures characters that need no escape. */
const ESCAPED = /\[(?:\\.|[^\]\\])*\]|\\([-_!"#%&',:;<=>@`~ ])|\\./gs

/** Keywords whose error only repeats that a subschema failed. */
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
  const leaves = errors.filter(({ keyword }) => !CONTAINER_KEYWORDS.has(keyword))
  const problems = (leaves.length > 0 ? leaves : errors).map(unit => {
    const path = pathOf(unit.instanceLocation)
    const problem = describeError(unit)
    return path === '' ? problem : `${path}: ${problem}`
  })
  return [...new Set(problems)].slice(0, MAX_REPORTED_PROBLEMS)
}

/** Converts `#/lines/0/price` to `lines.0.price`. */
function pathOf(location: string): string {
  const names = location.split('/').slice(1)
  const path = names.map(name => decodeURI(name).replaceAll('~1', '/').replaceAll('~0', '~')).join('.')
  return excerpt(path, MAX_PROBLEM_LENGTH)
}

/** The problem without the invalid value. */
function describeError({ keyword, error }: OutputUnit): string {
  if (keyword === 'false') return 'no value is allowed here'
  if (keyword === 'type') return `expected ${(/Expected "(.+)"\.$/.exec(error)?.[1] ?? '').replaceAll('", "', ' or ')}`
  const message = error.replace(/\.$/, '')
  return excerpt(NUMERIC_KEYWORDS.has(keyword) ? message.slice(message.indexOf(' ') + 1) : message, MAX_PROBLEM_LENGTH)
}

/** Keywords whose messages start with the invalid number. */
const NUMERIC_KEYWORDS = new Set(['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'])

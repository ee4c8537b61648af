// Checks a value with an untrusted JSON Schema. It runs in a worker, because a short schema can take unbounded time.

import { dereference, type OutputUnit, type SchemaDraft, Validator } from '@cfworker/json-schema'
import { excerpt } from '@millrace/protocol/internal'
import { ValidationError } from '../error/error.ts'
import { SUBSCHEMA_KEYWORDS, SUBSCHEMA_LIST_KEYWORDS, SUBSCHEMA_MAP_KEYWORDS } from './keywords.ts'
import { relaxSchema } from './relax-schema.ts'
import type { JsonSchema } from './schema.ts'

/** A check with an untrusted schema, as plain JSON. */
export interface SchemaCheck {
  readonly schema: JsonSchema
  /** The value to check. If absent, the check is whether the schema can check values. */
  readonly value?: unknown
  /** Whether all types must be known, and all references must have a target, also those that no value reaches. */
  readonly isStrict?: boolean
}

/** The problems of a value with their paths, none if it is valid; or why it cannot be checked. */
export type CheckOutcome = { readonly problems: readonly string[] } | { readonly failure: string }

/** Maximum number of problems in a message. */
const MAX_REPORTED_PROBLEMS = 10
/** Maximum length of each problem and of its path, in characters. */
const MAX_PROBLEM_LENGTH = 200

/** A value of each JSON type. A schema is usable if it can check all of them. */
const PROBES = [null, true, 0, '', [], {}]

/** Performs a check. Never throws. */
export function performCheck(check: SchemaCheck): CheckOutcome {
  const { schema, value, isStrict } = check
  try {
    // A copy, because the validator changes the schema.
    const copy = validatorSchema(schema)
    if (isStrict) checkReferences(copy)
    const validator = new Validator(copy, draftOf(schema))
    if ('value' in check) {
      const { valid, errors } = validator.validate(value)
      return { problems: valid ? [] : describeErrors(errors) }
    }
    for (const probe of PROBES) validator.validate(probe)
    return { problems: [] }
  } catch (error) {
    return { failure: failureOf(error) }
  }
}

/** Why a check failed, without quoting the schema or the value. */
function failureOf(error: unknown): string {
  if (error instanceof ValidationError) return error.message
  // A stack overflow by a self-reference, or a list of problems that exceeds the maximum length of an array.
  if (error instanceof RangeError)
    return 'it cannot be checked: it refers to itself, or repeats a reference too many times'
  return 'it has a reference without a target, or is not a JSON Schema'
}

const TYPES = new Set<unknown>(['array', 'boolean', 'integer', 'null', 'number', 'object', 'string'])

/** @throws {ValidationError} if a type is unknown, or a reference has no target. */
function checkReferences(schema: JsonSchema): void {
  const lookup = dereference(schema as never)
  for (const each of Object.values(lookup)) {
    const { $ref, __absolute_ref__: target = $ref, type } = Object(each) as Record<string, unknown>
    if ($ref !== undefined && lookup[String(target)] === undefined)
      throw new ValidationError('it has a reference without a target')
    const types = Array.isArray(type) ? type : [type ?? 'object']
    if (!types.every(name => TYPES.has(name))) throw new ValidationError('it has a type that JSON Schema does not have')
  }
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

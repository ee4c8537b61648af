// Makes an untrusted JSON Schema safe to check values with: limits its size, and removes the keywords that could block the
// process, which are regular expressions, and comparisons whose cost grows with the square of the value. The relaxed schema
// accepts every value that the original accepts.

import { isObject } from '@millrace/protocol/internal'
import { ValidationError } from '../error/error.ts'
import {
  COMPARED_KEYWORDS,
  type Keywords,
  SUBSCHEMA_KEYWORDS,
  SUBSCHEMA_LIST_KEYWORDS,
  SUBSCHEMA_MAP_KEYWORDS,
  VALUE_KEYWORDS,
} from './keywords.ts'
import type { JsonSchema } from './schema.ts'

/** Keywords that are removed: regular expressions and pairwise comparisons. */
const UNCHECKED_KEYWORDS: Keywords = new Set(['pattern', 'patternProperties', 'format', 'uniqueItems'])
/** Keywords that accept less if their subschema accepts more. */
const CONTRAVARIANT_KEYWORDS: Keywords = new Set([
  'not',
  'if',
  'then',
  'else',
  'maxContains',
  'unevaluatedItems',
  'unevaluatedProperties',
])
/** Keywords whose value is a number, a text, a boolean or an array of them. */
const PLAIN_KEYWORDS: Keywords = new Set([
  '$anchor',
  '$dynamicAnchor',
  '$dynamicRef',
  '$id',
  '$recursiveAnchor',
  '$recursiveRef',
  '$ref',
  '$schema',
  ...COMPARED_KEYWORDS,
])

export interface RelaxedSchema {
  readonly schema: JsonSchema
  /** Whether it accepts more than the original. */
  readonly isRelaxed: boolean
}

/** Removes the unchecked keywords of a schema, and all unknown ones, so that no reference can reach a removed one. */
export function relaxSchema(schema: JsonSchema): RelaxedSchema {
  const exact = new SchemaRelaxer(false)
  const result = exact.schema(schema) as JsonSchema
  if (!exact.isRelaxed) return { schema: result, isRelaxed: false }
  return { schema: new SchemaRelaxer(true).schema(schema) as JsonSchema, isRelaxed: true }
}

class SchemaRelaxer {
  /** Whether the schema has an unchecked keyword anywhere: a reference may lead to it from any place. */
  readonly #dropsContravariant: boolean
  isRelaxed = false

  constructor(dropsContravariant: boolean) {
    this.#dropsContravariant = dropsContravariant
  }

  schema(original: unknown): unknown {
    if (typeof original === 'boolean') return original
    if (!isObject(original)) throw new ValidationError('a subschema is neither an object nor a boolean')
    const result = new Map<string, unknown>()
    for (const [keyword, value] of Object.entries(original)) {
      if (UNCHECKED_KEYWORDS.has(keyword)) this.isRelaxed = true
      else if (!this.#dropsContravariant || !CONTRAVARIANT_KEYWORDS.has(keyword)) this.#copy(result, keyword, value)
    }
    if ('patternProperties' in original) result.delete('additionalProperties')
    if (this.#dropsContravariant && result.has('oneOf')) {
      const alternative = { anyOf: result.get('oneOf') }
      result.delete('oneOf')
      result.set('allOf', [...((result.get('allOf') as readonly unknown[] | undefined) ?? []), alternative])
    }
    return Object.fromEntries(result)
  }

  /** Copies a keyword to the result, relaxed, unless it is unknown or unsafe. */
  #copy(result: Map<string, unknown>, keyword: string, value: unknown): void {
    if (SUBSCHEMA_LIST_KEYWORDS.has(keyword) && Array.isArray(value)) {
      result.set(
        keyword,
        value.map(each => this.schema(each)),
      )
    } else if (SUBSCHEMA_KEYWORDS.has(keyword)) result.set(keyword, this.schema(value))
    else if (SUBSCHEMA_MAP_KEYWORDS.has(keyword)) result.set(keyword, this.#byName(keyword, value))
    else if (VALUE_KEYWORDS.has(keyword)) {
      // A reference could use an object in a value as a schema.
      if (isFlat(value)) result.set(keyword, value)
      else this.isRelaxed = true
    } else if (PLAIN_KEYWORDS.has(keyword) || SUBSCHEMA_LIST_KEYWORDS.has(keyword)) {
      if (!isFlat(value))
        throw new ValidationError(`${keyword}: expected a string, number, boolean or null, or an array of these`)
      result.set(keyword, value)
    }
  }

  #byName(keyword: string, value: unknown): unknown {
    if (!isObject(value)) throw new ValidationError(`${keyword}: expected an object`)
    const each = ([name, subschema]: [string, unknown]) => [
      name,
      Array.isArray(subschema) && isFlat(subschema) ? subschema : this.schema(subschema),
    ]
    return Object.fromEntries(Object.entries(value).map(each))
  }
}

const isFlat = (value: unknown): boolean =>
  Array.isArray(value) ? value.every(each => Object(each) !== each) : Object(value) !== value

/** @throws {ValidationError} if a JSON Schema is longer than `maxLength` characters of JSON or nested deeper than `maxDepth`. */
export function checkSchemaSize(jsonSchema: unknown, maxLength: number, maxDepth: number): void {
  checkDepth(jsonSchema, maxDepth)
  const { length } = JSON.stringify(jsonSchema)
  if (length > maxLength) throw new ValidationError(`expected at most ${maxLength} characters of JSON, found ${length}`)
}

function checkDepth(value: unknown, levelsLeft: number): void {
  if (typeof value !== 'object' || value === null) return
  if (levelsLeft === 0) throw new ValidationError('it is nested too deep')
  for (const each of Object.values(value)) checkDepth(each, levelsLeft - 1)
}

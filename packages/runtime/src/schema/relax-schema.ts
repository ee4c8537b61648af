// What is checked of a JSON Schema whose regular expressions are not run: those of others are not to be, because one could hold up the process, nor is what takes
// longer the more there is of it. What is left out is never missed in the other direction: nothing is refused that the whole schema takes.

import { ValidationError } from '../error/error.ts'
import { type Keywords, SUBSCHEMA_KEYWORDS, SUBSCHEMA_LIST_KEYWORDS, SUBSCHEMA_MAP_KEYWORDS } from './keywords.ts'
import type { JsonSchema } from './schema.ts'

/** Regular expressions, and what is compared with everything beside it. */
const UNCHECKED_KEYWORDS: Keywords = new Set(['pattern', 'patternProperties', 'format', 'uniqueItems'])
/** Keywords that refuse more where a schema within them takes more. */
const CONTRAVARIANT_KEYWORDS: Keywords = new Set([
  'not',
  'if',
  'then',
  'else',
  'maxContains',
  'unevaluatedItems',
  'unevaluatedProperties',
])
const VALUE_KEYWORDS: Keywords = new Set(['const', 'enum'])
const PLAIN_KEYWORDS: Keywords = new Set([
  '$anchor',
  '$dynamicAnchor',
  '$dynamicRef',
  '$id',
  '$recursiveAnchor',
  '$recursiveRef',
  '$ref',
  '$schema',
  'exclusiveMaximum',
  'exclusiveMinimum',
  'maxContains',
  'maxItems',
  'maxLength',
  'maxProperties',
  'maximum',
  'minContains',
  'minItems',
  'minLength',
  'minProperties',
  'minimum',
  'multipleOf',
  'required',
  'type',
])

export interface RelaxedSchema {
  readonly schema: JsonSchema
  /** Whether it takes more than the whole one. */
  readonly isRelaxed: boolean
}

/** A schema without what is not checked here; only keywords that are known stay, so that no reference finds the others by another way. */
export function relaxSchema(schema: JsonSchema): RelaxedSchema {
  const exact = new SchemaRelaxer(false)
  const result = exact.schema(schema) as JsonSchema
  if (!exact.isRelaxed) return { schema: result, isRelaxed: false }
  return { schema: new SchemaRelaxer(true).schema(schema) as JsonSchema, isRelaxed: true }
}

class SchemaRelaxer {
  /** Whether something is left out somewhere: a reference may lead there from anywhere. */
  readonly #isLoose: boolean
  isRelaxed = false

  constructor(isLoose: boolean) {
    this.#isLoose = isLoose
  }

  schema(given: unknown): unknown {
    if (typeof given === 'boolean') return given
    if (!isObject(given)) throw new ValidationError('a schema in it is no object')
    const kept = new Map<string, unknown>()
    for (const [keyword, value] of Object.entries(given)) {
      if (UNCHECKED_KEYWORDS.has(keyword)) this.isRelaxed = true
      else if (!this.#isLoose || !CONTRAVARIANT_KEYWORDS.has(keyword)) this.#keep(kept, keyword, value)
    }
    if ('patternProperties' in given) kept.delete('additionalProperties')
    if (this.#isLoose && kept.has('oneOf')) {
      const some = { anyOf: kept.get('oneOf') }
      kept.delete('oneOf')
      kept.set('allOf', [...((kept.get('allOf') as readonly unknown[] | undefined) ?? []), some])
    }
    return Object.fromEntries(kept)
  }

  #keep(kept: Map<string, unknown>, keyword: string, value: unknown): void {
    if (SUBSCHEMA_LIST_KEYWORDS.has(keyword) && Array.isArray(value)) {
      kept.set(
        keyword,
        value.map(each => this.schema(each)),
      )
    } else if (SUBSCHEMA_KEYWORDS.has(keyword)) kept.set(keyword, this.schema(value))
    else if (SUBSCHEMA_MAP_KEYWORDS.has(keyword)) kept.set(keyword, this.#byName(keyword, value))
    else if (VALUE_KEYWORDS.has(keyword)) {
      // Data that looks like a schema could be referred to as one.
      if (isFlat(value)) kept.set(keyword, value)
      else this.isRelaxed = true
    } else if (PLAIN_KEYWORDS.has(keyword) || SUBSCHEMA_LIST_KEYWORDS.has(keyword)) {
      if (!isFlat(value)) throw new ValidationError(`${keyword} is no plain value`)
      kept.set(keyword, value)
    }
  }

  #byName(keyword: string, value: unknown): unknown {
    if (!isObject(value)) throw new ValidationError(`${keyword} is no object`)
    const each = ([name, own]: [string, unknown]) => [name, Array.isArray(own) && isFlat(own) ? own : this.schema(own)]
    return Object.fromEntries(Object.entries(value).map(each))
  }
}

const isObject = (value: unknown): value is JsonSchema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isFlat = (value: unknown): boolean =>
  Array.isArray(value) ? value.every(each => Object(each) !== each) : Object(value) !== value

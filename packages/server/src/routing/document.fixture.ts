// Bodies generated from the schemas of the OpenAPI document: most are valid, and many nearly so.

import * as fc from 'fast-check'

/** The subset of JSON Schema that bodies use. */
export interface Schema {
  readonly type?: 'string' | 'integer' | 'boolean' | 'object' | 'array'
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly minimum?: number
  readonly maximum?: number
  readonly maxLength?: number
  readonly maxItems?: number
}

const anyValue = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom('', 'tool', '::', 'a\u0000b', 0, -1, 0.5, null, {}),
)

/** Occasionally another value. */
const mostly = (arbitrary: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 20, arbitrary }, { weight: 1, arbitrary: anyValue })

/** A value for a schema, valid or nearly so. */
export const nearlyValid = (schema: Schema): fc.Arbitrary<unknown> => mostly(validFor(schema))

function validFor({ type, const: only, enum: words, anyOf, oneOf, ...schema }: Schema): fc.Arbitrary<unknown> {
  const variants = anyOf ?? oneOf?.filter(variant => variant.type !== undefined) ?? []
  if (variants.length > 0) return fc.oneof(...variants.map(nearlyValid))
  if (only !== undefined) return fc.constant(only)
  if (words) return fc.constantFrom(...words)
  switch (type) {
    case 'string': {
      const { maxLength = 10 } = schema
      const edges = ['a'.repeat(maxLength), 'a'.repeat(maxLength + 1), '', 'a\nb', 'a\u0085b', 'a::b', 'data-a', 'ä 😀']
      return fc.oneof({ weight: 3, arbitrary: fc.string({ minLength: 1 }) }, fc.constantFrom(...edges))
    }
    case 'integer': {
      const { minimum = 0, maximum = 0 } = schema
      const edges = [minimum, maximum, minimum - 1, maximum + 1].filter(Number.isSafeInteger)
      return fc.oneof(fc.integer({ min: minimum, max: minimum + 1000 }), fc.constantFrom(...edges))
    }
    case 'boolean':
      return fc.boolean()
    case 'array': {
      const { items = {}, maxItems = 1 } = schema
      const few = fc.array(nearlyValid(items), { minLength: 1, maxLength: 3 })
      const edge = fc.tuple(validFor(items), fc.constantFrom(0, maxItems, maxItems + 1))
      return fc.oneof(
        { weight: 10, arbitrary: few },
        edge.map(([item, length]) => Array.from({ length }, () => item)),
      )
    }
    case 'object':
      return schema.properties ? fields(schema) : fc.dictionary(fc.string({ maxLength: 5 }), anyValue, { maxKeys: 3 })
    default:
      return anyValue
  }
}

function fields({ properties = {}, required = [] }: Schema): fc.Arbitrary<unknown> {
  const named = Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, nearlyValid(schema)]))
  const whole = fc.record(named, { requiredKeys: [...required] })
  const change = fc.oneof(
    { weight: 10, arbitrary: fc.constant((body: object): object => body) },
    fc.constantFrom('context', 'internal', 'role', 'constructor').map(key => (body: object) => ({ ...body, [key]: 1 })),
    fc.nat(5).map(at => (body: object) => Object.fromEntries(Object.entries(body).filter((_, i) => i !== at))),
  )
  return fc.tuple(whole, change).map(([body, changed]) => changed(body))
}

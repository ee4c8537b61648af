// Determines from the JSON Schema of an output which fields stream separately.

import type { FieldKind } from '@millrace/protocol'
import type { JsonSchema } from '../schema/schema.ts'

/** Maximum depth of fields that stream separately. Deeper values arrive with their field. */
const MAX_DEPTH = 4

/** The fields of a schema by dotted path: objects by field, lists by item, strings by delta. */
export function* outputFields(value: unknown, path: readonly string[] = []): Generator<[string, FieldKind]> {
  const schema = withoutNull(value)
  const { type, properties, items } = schema
  if (type === 'object' && isSchema(properties) && path.length < MAX_DEPTH) {
    for (const [key, property] of Object.entries(properties)) {
      // Keys that a path cannot express arrive with the complete object.
      if (/^$|[.*]/.test(key) || /^\d+$/.test(key)) continue
      yield* outputFields(property, [...path, key])
    }
    return
  }
  // A list that is the document itself has no path to append to, so its items are streamed by index.
  if (type === 'array' && path.length === 0) yield* outputFields(items, ['*'])
  else if (path.length > 0) yield [path.join('.'), kindOf(schema)]
}

/** Strings with a fixed set of values or a format are set at once: a prefix of them would be another value. */
function kindOf({ type, enum: allowed, const: constant, format }: JsonSchema): FieldKind {
  if (type === 'array') return 'append'
  const isFreeText = type === 'string' && allowed === undefined && constant === undefined && format === undefined
  return isFreeText ? 'text-delta' : 'set'
}

const isSchema = (schema: unknown): schema is JsonSchema => typeof schema === 'object' && schema !== null

/** Removes `null` from a schema: a null is not an update. */
function withoutNull(schema: unknown): JsonSchema {
  if (!isSchema(schema)) return {}
  const { type, anyOf } = schema
  if (Array.isArray(type)) {
    const [first, ...others] = type.filter(name => name !== 'null')
    return others.length === 0 ? { ...schema, type: first } : schema
  }
  if (!Array.isArray(anyOf)) return schema
  const [first, ...others] = anyOf.filter(choice => !isSchema(choice) || choice['type'] !== 'null')
  return others.length === 0 ? withoutNull(first) : schema
}

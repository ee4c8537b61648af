// The fields of an output that are streamed by themselves, told from its JSON Schema.

import type { FieldKind } from '@millrace/protocol'
import type { JsonSchema } from '../schema/schema.ts'

/** How deep into a schema fields are streamed by themselves; what lies deeper arrives with its field. */
const DEEPEST = 4

/** The fields that a schema names, by their dotted paths: objects field by field, lists item by item, texts as they grow. */
export function* outputFields(given: unknown, path: readonly string[] = []): Generator<[string, FieldKind]> {
  const schema = plain(given)
  const { type, properties, items } = schema
  if (type === 'object' && isSchema(properties) && path.length < DEEPEST) {
    for (const [key, below] of Object.entries(properties)) {
      // What a path cannot name arrives with the whole.
      if (/^$|[.*]/.test(key) || /^\d+$/.test(key)) continue
      yield* outputFields(below, [...path, key])
    }
    return
  }
  // A list that is the whole document has no name that items could be added to.
  if (type === 'array' && path.length === 0) yield* outputFields(items, ['*'])
  else if (path.length > 0) yield [path.join('.'), kindOf(schema)]
}

/** Half of a word that means something is another word: such texts arrive whole. */
function kindOf({ type, enum: words, const: word, format }: JsonSchema): FieldKind {
  if (type === 'array') return 'append'
  return type === 'string' && words === undefined && word === undefined && format === undefined ? 'text-delta' : 'set'
}

const isSchema = (schema: unknown): schema is JsonSchema => typeof schema === 'object' && schema !== null

/** A schema of something that may also be null, as that of the something: a null is no update. */
function plain(schema: unknown): JsonSchema {
  if (!isSchema(schema)) return {}
  const { type, anyOf } = schema
  if (Array.isArray(type)) {
    const [first, ...others] = type.filter(one => one !== 'null')
    return others.length === 0 ? { ...schema, type: first } : schema
  }
  if (!Array.isArray(anyOf)) return schema
  const [first, ...others] = anyOf.filter(one => !isSchema(one) || one['type'] !== 'null')
  return others.length === 0 ? plain(first) : schema
}

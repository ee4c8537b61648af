// Embeds a JSON Schema in another one. References to its own root are rewritten to the definitions of the outer schema.

import { isObject } from '@millrace/protocol/internal'
import { SUBSCHEMA_KEYWORDS, SUBSCHEMA_LIST_KEYWORDS, SUBSCHEMA_MAP_KEYWORDS } from './keywords.ts'
import type { JsonSchema } from './schema.ts'

export interface EmbeddedSchema {
  /** Use this as the subschema. */
  readonly schema: JsonSchema
  /** Add these to `$defs` of the outer schema: providers support definitions only there. */
  readonly definitions: { readonly [name: string]: unknown }
}

/** Rewrites a schema so that it has the same meaning inside of another one. The names of its definitions start with `name`. */
export function embedSchema(original: JsonSchema, name: string): EmbeddedSchema {
  // References in a schema with `$id` are relative to that, so it needs no rewriting.
  if (typeof original['$id'] === 'string') return { schema: original, definitions: {} }
  const { $schema: _, $defs = {}, definitions = {}, ...root } = original
  const rewriter = new ReferenceRewriter(name)
  const schema = rewriter.schema(root) as JsonSchema
  const rewritten = [...rewriter.definitions('$defs', $defs), ...rewriter.definitions('definitions', definitions)]
  if (!rewriter.isRootUsed) return { schema, definitions: Object.fromEntries(rewritten) }
  // Some providers reject other keywords beside `$ref`.
  return { schema: { $ref: `#/$defs/${name}` }, definitions: Object.fromEntries([[name, schema], ...rewritten]) }
}

type DefinitionsKeyword = '$defs' | 'definitions'

class ReferenceRewriter {
  readonly #name: string
  /** Whether a reference points to the root, or to a path in it other than the definitions. */
  isRootUsed = false

  constructor(name: string) {
    this.#name = name
  }

  definitions(keyword: DefinitionsKeyword, schemas: unknown): readonly (readonly [name: string, schema: unknown])[] {
    return Object.entries(schemas as object).map(([key, schema]) => [this.#nameOf(keyword, key), this.schema(schema)])
  }

  schema(original: unknown): unknown {
    if (!isObject(original) || typeof original['$id'] === 'string') return original
    return Object.fromEntries(
      Object.entries(original).map(([keyword, value]) => [keyword, this.#value(keyword, value)]),
    )
  }

  #value(keyword: string, value: unknown): unknown {
    if (keyword === '$ref' && typeof value === 'string') return this.#reference(value)
    if (SUBSCHEMA_LIST_KEYWORDS.has(keyword) && Array.isArray(value)) return value.map(each => this.schema(each))
    if (SUBSCHEMA_KEYWORDS.has(keyword)) return this.schema(value)
    if (!isObject(value) || !(SUBSCHEMA_MAP_KEYWORDS.has(keyword) || keyword === 'patternProperties')) return value
    return Object.fromEntries(Object.entries(value).map(([key, subschema]) => [key, this.schema(subschema)]))
  }

  #reference(target: string): string {
    const [, keyword, key = '', rest = ''] = /^#\/(\$defs|definitions)\/([^/]+)(.*)$/s.exec(target) ?? []
    if (keyword) return `#/$defs/${this.#nameOf(keyword as DefinitionsKeyword, key)}${rest}`
    if (target !== '#' && !target.startsWith('#/')) return target
    this.isRootUsed = true
    return `#/$defs/${this.#name}${target.slice(1)}`
  }

  /** A unique name, also if `$defs` and `definitions` have the same key. */
  #nameOf(keyword: DefinitionsKeyword, key: string): string {
    return `${this.#name}${keyword === '$defs' ? '_' : '.'}${key}`
  }
}

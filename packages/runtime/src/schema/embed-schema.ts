// A JSON Schema as a part of another: what it refers to by its own root has to be found there too.

import { SUBSCHEMA_KEYWORDS, SUBSCHEMA_LIST_KEYWORDS, SUBSCHEMA_MAP_KEYWORDS } from './keywords.ts'
import type { JsonSchema } from './schema.ts'

export interface EmbeddedSchema {
  /** What stands in the place of the schema. */
  readonly schema: JsonSchema
  /** What has to stand in `$defs` of the whole: providers look for definitions nowhere else. */
  readonly definitions: { readonly [name: string]: unknown }
}

/** A schema that means the same within another, where its definitions have names that begin with this one. */
export function embedSchema(given: JsonSchema, name: string): EmbeddedSchema {
  // One that has an address is a document of its own, wherever it stands.
  if (typeof given['$id'] === 'string') return { schema: given, definitions: {} }
  const { $schema: _, $defs = {}, definitions = {}, ...root } = given
  const move = new ReferenceRewriter(name)
  const schema = move.schema(root) as JsonSchema
  const moved = [...move.definitions('$defs', $defs), ...move.definitions('definitions', definitions)]
  if (!move.isRootUsed) return { schema, definitions: Object.fromEntries(moved) }
  // Some providers take no other words beside a reference.
  return { schema: { $ref: `#/$defs/${name}` }, definitions: Object.fromEntries([[name, schema], ...moved]) }
}

type DefinitionsKeyword = '$defs' | 'definitions'

class ReferenceRewriter {
  readonly #name: string
  /** Whether something refers to the whole, or to a place in it. */
  isRootUsed = false

  constructor(name: string) {
    this.#name = name
  }

  definitions(holder: DefinitionsKeyword, held: unknown): readonly (readonly [name: string, schema: unknown])[] {
    return Object.entries(held as object).map(([key, own]) => [this.#nameOf(holder, key), this.schema(own)])
  }

  schema(given: unknown): unknown {
    if (!isObject(given) || typeof given['$id'] === 'string') return given
    return Object.fromEntries(Object.entries(given).map(([keyword, value]) => [keyword, this.#value(keyword, value)]))
  }

  #value(keyword: string, value: unknown): unknown {
    if (keyword === '$ref' && typeof value === 'string') return this.#reference(value)
    if (SUBSCHEMA_LIST_KEYWORDS.has(keyword) && Array.isArray(value)) return value.map(each => this.schema(each))
    if (SUBSCHEMA_KEYWORDS.has(keyword)) return this.schema(value)
    if (!isObject(value) || !(SUBSCHEMA_MAP_KEYWORDS.has(keyword) || keyword === 'patternProperties')) return value
    return Object.fromEntries(Object.entries(value).map(([key, own]) => [key, this.schema(own)]))
  }

  #reference(to: string): string {
    const [, holder, key = '', rest = ''] = /^#\/(\$defs|definitions)\/([^/]+)(.*)$/s.exec(to) ?? []
    if (holder) return `#/$defs/${this.#nameOf(holder as DefinitionsKeyword, key)}${rest}`
    if (to !== '#' && !to.startsWith('#/')) return to
    this.isRootUsed = true
    return `#/$defs/${this.#name}${to.slice(1)}`
  }

  /** One name each, also where both holders have the same. */
  #nameOf(holder: DefinitionsKeyword, key: string): string {
    return `${this.#name}${holder === '$defs' ? '_' : '.'}${key}`
  }
}

const isObject = (value: unknown): value is JsonSchema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

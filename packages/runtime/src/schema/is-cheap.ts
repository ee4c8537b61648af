import { isObject } from '@millrace/protocol/internal'
import {
  COMPARED_KEYWORDS,
  type Keywords,
  SUBSCHEMA_KEYWORDS,
  SUBSCHEMA_LIST_KEYWORDS,
  SUBSCHEMA_MAP_KEYWORDS,
  VALUE_KEYWORDS,
} from './keywords.ts'
import type { SchemaCheck } from './perform-check.ts'

/** Maximum cost of a check in the thread of the caller: a few milliseconds. */
const MAX_CHEAP_COST = 20_000

/** Characters that cost as much as one value. */
const CHARACTERS_PER_COST = 32

/** Keywords that validation ignores. */
const ANNOTATION_KEYWORDS: Keywords = new Set([
  '$comment',
  '$schema',
  'contentEncoding',
  'contentMediaType',
  'default',
  'deprecated',
  'description',
  'examples',
  'format',
  'readOnly',
  'title',
  'writeOnly',
])

/**
 * Whether a check takes at most a few milliseconds, so that it need not run in a worker. Without references, each part of
 * the schema is compared with each part of the value at most once. Schemas with references, regular expressions,
 * comparisons of each pair, or unknown keywords are never cheap. `maxCost` limits the product of both sizes.
 */
export function isCheap(check: SchemaCheck, maxCost = MAX_CHEAP_COST): boolean {
  const schemaCost = new SchemaCost(maxCost)
  schemaCost.addSchema(check.schema)
  if (!schemaCost.isBounded) return false
  const valueCost = 'value' in check ? costOf(check.value, maxCost / schemaCost.total) : 1
  return schemaCost.total * valueCost <= maxCost
}

/** Adds up the size of a schema, without its annotations. The caller limits its depth. */
class SchemaCost {
  readonly #max: number
  #hasExpensiveKeyword = false
  total = 1

  constructor(max: number) {
    this.#max = max
  }

  get isBounded(): boolean {
    return !this.#hasExpensiveKeyword && this.total <= this.#max
  }

  addSchema(schema: unknown): void {
    this.total++
    if (typeof schema === 'boolean' || !this.isBounded) return
    if (isObject(schema)) for (const [keyword, value] of Object.entries(schema)) this.#addKeyword(keyword, value)
    else this.#hasExpensiveKeyword = true
  }

  #addKeyword(keyword: string, value: unknown): void {
    if (SUBSCHEMA_LIST_KEYWORDS.has(keyword) && Array.isArray(value)) for (const each of value) this.addSchema(each)
    else if (SUBSCHEMA_KEYWORDS.has(keyword)) this.addSchema(value)
    else if (SUBSCHEMA_MAP_KEYWORDS.has(keyword) && isObject(value)) {
      for (const [name, subschema] of Object.entries(value)) {
        this.total += name.length / CHARACTERS_PER_COST
        if (Array.isArray(subschema)) this.total += costOf(subschema, this.#max)
        else this.addSchema(subschema)
      }
    } else if (VALUE_KEYWORDS.has(keyword) || COMPARED_KEYWORDS.has(keyword)) this.total += costOf(value, this.#max)
    else if (!ANNOTATION_KEYWORDS.has(keyword)) this.#hasExpensiveKeyword = true
  }
}

/** The number of values in a value, and of its characters. Stops counting above `max`. Not recursive, since values may be nested deep. */
function costOf(value: unknown, max: number): number {
  let cost = 0
  const rest = [value]
  while (rest.length > 0 && cost <= max) {
    const each = rest.pop()
    cost++
    if (typeof each === 'string') cost += each.length / CHARACTERS_PER_COST
    if (typeof each !== 'object' || each === null) continue
    const values: readonly unknown[] = Array.isArray(each) ? each : Object.values(each)
    // Counted before they are copied, because a list may be long.
    if (cost + values.length > max) return cost + values.length
    if (!Array.isArray(each)) for (const name of Object.keys(each)) cost += name.length / CHARACTERS_PER_COST
    for (const inner of values) rest.push(inner)
  }
  return cost
}

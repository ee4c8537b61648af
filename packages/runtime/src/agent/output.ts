// A run's output while it streams: the text of a JSON document becomes updates of a structured object, field by field as the schema names them.

import { type Chunk, type FieldKind, FieldWatcher, type Json } from '@millrace/protocol'
import type { JsonSchema } from '../schema/schema.ts'

/** How deep into a schema fields are streamed by themselves; what lies deeper arrives with its field. */
const DEEPEST = 4

export class OutputStream {
  readonly #watcher: FieldWatcher
  readonly #identity: { readonly streamId: string; readonly dataType: string }
  #isBegun = false

  constructor(runId: string, agentName: string, schema: JsonSchema) {
    this.#identity = { streamId: outputStreamId(runId), dataType: agentName }
    this.#watcher = new FieldWatcher(Object.fromEntries(fieldsOf(schema)))
  }

  /** Goes on with the next piece of text: the updates that it brings. */
  push(delta: string): Chunk[] {
    const updates = this.#watcher.push(delta)
    if (updates.length > 0) this.#isBegun = true
    return updates.map(update => ({ type: 'structured-data', ...this.#identity, ...update }))
  }

  /** The document, if the text held a whole one. */
  end(): { readonly value: Json } | { readonly problem: string } {
    if (this.#watcher.end()) return { value: this.#watcher.json.value as Json }
    return { problem: this.#watcher.json.error?.message ?? 'the answer holds no JSON document' }
  }

  /** Says the whole object. */
  final(data: Json): Chunk {
    return { type: 'structured-data', ...this.#identity, kind: 'final', data }
  }

  /** Whether something of the object was shown. */
  get isBegun(): boolean {
    return this.#isBegun
  }
}

/** The structured object of a run's output. */
export const outputStreamId = (runId: string): string => `output:${runId}`

function* fieldsOf(schema: JsonSchema, path: readonly string[] = []): Generator<[string, FieldKind]> {
  const properties = schema['properties']
  const isObject = schema['type'] === 'object' && typeof properties === 'object' && properties !== null
  if (isObject && path.length < DEEPEST) {
    for (const [key, below] of Object.entries(properties as Record<string, JsonSchema>)) {
      // What a path cannot name arrives with the whole.
      if (/^$|[.*]/.test(key) || /^\d+$/.test(key)) continue
      yield* fieldsOf(below ?? {}, [...path, key])
    }
    return
  }
  if (path.length > 0) yield [path.join('.'), kindOf(schema)]
}

/** Half of a word that means something is another word: such texts arrive whole. */
function kindOf({ type, enum: words, const: word, format }: JsonSchema): FieldKind {
  if (type === 'array') return 'append'
  return type === 'string' && words === undefined && word === undefined && format === undefined ? 'text-delta' : 'set'
}

// A run's output while it streams: the text of a JSON document becomes updates of a structured object, field by field as the schema names them.

import { type Chunk, FieldWatcher, type Json } from '@millrace/protocol'
import { MillraceError } from '../error/error.ts'
import { type JsonSchema, type Schema, validate } from '../schema/schema.ts'
import { fieldsOf } from './fields.ts'

export interface OutputSettings {
  readonly streamId: string
  readonly step: number
  /** Of the agent. */
  readonly name: string
  readonly schema: Schema
  readonly jsonSchema: JsonSchema
}

/** The structured object of an agent's output: of the run, or of a sub-agent in it. */
export const outputStreamId = (runId: string, agentId: string = runId): string => `output:${agentId}`

/** The text of one answer, which is the output if the answer calls nobody; then it is told what a call needs first, and is text like any other. */
export class OutputStream {
  readonly #schema: Schema
  readonly #watcher: FieldWatcher
  readonly #identity: { readonly streamId: string; readonly dataType: string }
  readonly #textId: string
  #text = ''
  /** Whether something of the object was shown. */
  #isBegun = false
  /** Whether the answer calls somebody, and whether its text is shown as such. */
  #isAside = false
  #isTextOpen = false

  constructor({ streamId, step, name, schema, jsonSchema }: OutputSettings) {
    this.#schema = schema
    this.#identity = { streamId, dataType: name }
    this.#textId = `${step}.aside`
    this.#watcher = new FieldWatcher(Object.fromEntries(fieldsOf(jsonSchema)))
  }

  /** Goes on with the next piece of text: what it shows. */
  push(delta: string): Chunk[] {
    this.#text += delta
    const updates = this.#watcher.push(delta)
    if (this.#isAside) return this.#say(delta)
    if (updates.length > 0) this.#isBegun = true
    return updates.map(update => ({ type: 'structured-data', ...this.#identity, ...update }))
  }

  /** What is to be said before a chunk: a call makes the text that came so far what it is, words beside it. */
  before(chunk: Chunk): Chunk[] {
    const isCall = chunk.type.startsWith('tool-input-') && !('executor' in chunk && chunk.executor === 'provider')
    if (!isCall || this.#isAside) return []
    this.#isAside = true
    const { streamId } = this.#identity
    const shown: Chunk[] = this.#isBegun
      ? [{ type: 'structured-data-invalidated', streamId, reason: 'tool-calls' }]
      : []
    this.#isBegun = false
    return [...shown, ...this.#say(this.#text)]
  }

  /** What is to be said at the end of an answer that calls somebody. */
  leave(): Chunk[] {
    return this.#isTextOpen ? [{ type: 'text-end', id: this.#textId }] : []
  }

  /** Says the whole object, at the end of an answer that calls nobody; gives it. Throws where it does not fit. */
  async settle(write: (chunk: Chunk) => PromiseLike<void>): Promise<Json> {
    const document = this.#document()
    const checked = 'problem' in document ? document : await validate(this.#schema, document.value)
    if ('problem' in checked) throw misfit(`the answer does not fit the output: ${checked.problem}`, checked.cause)
    const output = jsonOf(checked.value)
    await write({ type: 'structured-data', ...this.#identity, kind: 'final', data: output })
    return output
  }

  #document(): { readonly value: Json } | { readonly problem: string; readonly cause?: unknown } {
    if (this.#watcher.end()) return { value: this.#watcher.json.value as Json }
    return { problem: this.#watcher.json.error?.message ?? 'it holds no JSON document' }
  }

  #say(delta: string): Chunk[] {
    if (delta === '') return []
    const id = this.#textId
    const start: Chunk[] = this.#isTextOpen ? [] : [{ type: 'text-start', id }]
    this.#isTextOpen = true
    return [...start, { type: 'text-delta', id, delta }]
  }
}

/** An answer that is not what was asked for; the model may do better. */
export const misfit = (message: string, cause: unknown): MillraceError =>
  new MillraceError('output_invalid', message, { retryable: true, cause })

/** What a schema makes of an answer must be JSON to be kept. */
function jsonOf(value: unknown): Json {
  try {
    return JSON.parse(JSON.stringify(value)) as Json
  } catch (cause) {
    throw new MillraceError('output_invalid', 'what the output’s schema makes of the answer is no JSON', { cause })
  }
}

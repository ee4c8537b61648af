// Streams a run's output: converts the text of a JSON document to updates of a structured object, field by field.

import { type Chunk, type Fields, type FieldUpdate, FieldWatcher, type Json } from '@millrace/protocol'
import type { Agent } from '../define/agent.ts'
import { MillraceError } from '../error/error.ts'
import { toJson } from '../schema/json.ts'
import { type Schema, validate } from '../schema/schema.ts'
import { outputStreamId } from '../session/session.ts'
import { outputFields } from './output-fields.ts'

/** Fields that identify a structured object in each of its updates. */
export interface StructuredIdentity {
  readonly streamId: string
  readonly dataType: string
  readonly schemaId?: string
  readonly schemaVersion?: string
  readonly id?: string
  readonly node?: string
}

export interface OutputSettings {
  readonly schema: Schema
  /** The object that readers see. Absent if only the caller gets the output. */
  readonly identity?: StructuredIdentity
  /** The fields that stream. Other fields arrive with the complete object. */
  readonly fields: Fields
  /** Field of the document that contains the object. @default the document itself */
  readonly field?: string
  /** Whether a document is the final version of its object. @default always */
  readonly isFinal?: (document: Json) => boolean
  /** Id of the text part for text next to tool calls. Without it that text is not shown. */
  readonly sideTextId?: string
  /**
   * Returns a reason if an earlier answer has shown an object with the same identity. That object is invalidated before
   * this one is shown. Called when an answer starts.
   */
  readonly replacementReason?: () => string | undefined
}

/** Receives the text of an answer that is not shown as text. */
export interface AnswerSink {
  /** Adds text. Returns the chunks to write. */
  push(delta: string): Chunk[]
  /** Returns the chunks to write before a chunk. */
  before(chunk: Chunk): Chunk[]
  /** Returns the last chunks of an answer with tool calls. */
  endWithCalls(): Chunk[]
  /** Returns the chunks that withdraw what was shown. */
  invalidate(reason: string): Chunk[]
  /**
   * Ends an answer without tool calls: writes the remaining chunks and returns the document, if there is one.
   * @throws {MillraceError} if the document does not match the schema.
   */
  endWithDocument(write: (chunk: Chunk) => PromiseLike<void>): Promise<Json | undefined>
}

/** Creates the output stream of a step, if the agent has an output. */
export function agentOutput(
  { name, outputSchema, jsonSchema }: Agent,
  runId: string,
  agentId: string,
): (step: number) => OutputStream | undefined {
  return step =>
    outputSchema &&
    jsonSchema &&
    new OutputStream({
      schema: outputSchema,
      identity: { streamId: outputStreamId(runId, agentId), dataType: name },
      fields: Object.fromEntries(outputFields(jsonSchema)),
      sideTextId: `${step}.aside`,
    })
}

/**
 * The text of one answer. It is the output if the answer has no tool calls; with calls it becomes plain text before
 * them.
 */
export class OutputStream implements AnswerSink {
  readonly #settings: OutputSettings
  readonly #watcher: FieldWatcher
  #text = ''
  /** Reason to invalidate the object shown before; cleared once that is done. */
  #replacementReason: string | undefined
  /** Whether part of the object was shown. */
  #isStarted = false
  /** Whether readers could take the object for an array. */
  #isAmbiguous = false
  /** Whether the answer has tool calls, and whether its text part is open. */
  #isBesideCalls = false
  #isTextOpen = false

  constructor(settings: OutputSettings) {
    const { fields, field } = settings
    this.#settings = settings
    this.#replacementReason = settings.replacementReason?.()
    const documentFields = field === undefined ? fields : prefixed(fields, field)
    this.#watcher = new FieldWatcher(settings.identity ? documentFields : {})
  }

  push(delta: string): Chunk[] {
    const { identity, field } = this.#settings
    this.#text += delta
    const updates = this.#watcher.push(delta)
    if (this.#isBesideCalls) return this.#writeText(delta)
    if (updates.length === 0 || identity === undefined) return []
    const objectUpdates = field === undefined ? updates : this.#relativePaths(field, updates)
    if (objectUpdates.length === 0) return []
    return [
      ...this.#start(),
      ...objectUpdates.map((update): Chunk => ({ type: 'structured-data', ...identity, ...update })),
    ]
  }

  /**
   * Converts paths in the document to paths in its object. An update of the object itself is skipped: it cannot be set
   * while it streams.
   */
  #relativePaths(field: string, updates: readonly FieldUpdate[]): FieldUpdate[] {
    return updates.flatMap(update => {
      const path = update.path.slice(field.length + 1)
      // The first key is numeric, and a reader would create an array from it. It arrives with the complete object.
      if (path === '') this.#isAmbiguous = true
      if (path === '' || (this.#isAmbiguous && /^\d+(\.|$)/.test(path))) return []
      this.#isAmbiguous = false
      return [{ ...update, path }]
    })
  }

  /** Before the first tool call: withdraws the object and writes the text so far as text. */
  before(chunk: Chunk): Chunk[] {
    const isCall = chunk.type.startsWith('tool-input-') && !('executor' in chunk && chunk.executor === 'provider')
    if (!isCall || this.#isBesideCalls) return []
    this.#isBesideCalls = true
    return [...this.invalidate('tool-calls'), ...this.#writeText(this.#text)]
  }

  endWithCalls(): Chunk[] {
    const { sideTextId } = this.#settings
    return this.#isTextOpen && sideTextId !== undefined ? [{ type: 'text-end', id: sideTextId }] : []
  }

  invalidate(reason: string): Chunk[] {
    const { identity } = this.#settings
    const isShown = this.#isStarted && identity !== undefined
    this.#isStarted = false
    return isShown ? [{ type: 'structured-data-invalidated', streamId: identity.streamId, reason }] : []
  }

  async endWithDocument(write: (chunk: Chunk) => PromiseLike<void>): Promise<Json> {
    const { schema, identity, field, isFinal } = this.#settings
    const document = this.#document()
    const checked = 'problem' in document ? document : await validate(schema, document.value)
    if ('problem' in checked)
      throw outputInvalid('the answer does not match the output schema', new OutputProblem(checked))
    const value = toJson(checked.value, notJsonError)
    const data = field === undefined ? value : (Object(value) as { readonly [key: string]: Json })[field]
    if (identity && data !== undefined && (isFinal?.(value) ?? true)) {
      for (const chunk of this.#start()) await write(chunk)
      await write({ type: 'structured-data', ...identity, kind: 'final', data })
    }
    return value
  }

  /** The chunks before the first update of the object. */
  #start(): Chunk[] {
    this.#isStarted = true
    const { identity } = this.#settings
    const reason = this.#replacementReason
    this.#replacementReason = undefined
    return identity && reason !== undefined
      ? [{ type: 'structured-data-invalidated', streamId: identity.streamId, reason }]
      : []
  }

  #document(): { readonly value: Json } | { readonly problem: string; readonly cause?: unknown } {
    if (this.#watcher.end()) return { value: this.#watcher.json.value as Json }
    return { problem: this.#watcher.json.error?.message ?? 'it contains no JSON document' }
  }

  #writeText(delta: string): Chunk[] {
    const { sideTextId: id } = this.#settings
    if (delta === '' || id === undefined) return []
    const start: Chunk[] = this.#isTextOpen ? [] : [{ type: 'text-start', id }]
    this.#isTextOpen = true
    return [...start, { type: 'text-delta', id, delta }]
  }
}

const prefixed = (fields: Fields, prefix: string): Fields =>
  Object.fromEntries(Object.entries(fields).map(([path, kind]) => [`${prefix}.${path}`, kind]))

/** A problem of an answer. It may quote the answer, so only the model and the logger get it, not readers (law 10). */
class OutputProblem extends Error {
  constructor({ problem, cause }: { readonly problem: string; readonly cause?: unknown }) {
    super(problem, cause === undefined ? undefined : { cause })
    this.name = 'Problem'
  }
}

/** The error for an answer that does not match the output schema. Retryable: the model may correct it. */
export const outputInvalid = (message: string, cause: unknown): MillraceError =>
  new MillraceError('output_invalid', message, { retryable: true, cause })

/** The problem as the model gets it. */
export const outputProblem = ({ message, cause }: MillraceError): string =>
  cause instanceof OutputProblem ? `${message}: ${cause.message}` : message

const notJsonError = (cause?: unknown): MillraceError =>
  new MillraceError('output_invalid', 'the value that outputSchema returned is not JSON', { cause })

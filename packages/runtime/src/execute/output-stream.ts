// A run's output while it streams: the text of a JSON document becomes updates of a structured object, field by field as the schema names them.

import { type Chunk, type Fields, type FieldUpdate, FieldWatcher, type Json } from '@millrace/protocol'
import type { Agent } from '../define/agent.ts'
import { MillraceError } from '../error/error.ts'
import { type Schema, validate } from '../schema/schema.ts'
import { outputStreamId } from '../session/session.ts'
import { outputFields } from './output-fields.ts'

/** What each update of a structured object says of it. */
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
  /** The object that readers see; none, where only who asked gets it. */
  readonly shown?: StructuredIdentity
  /** The fields that are shown while they stream; the rest comes with the whole. */
  readonly fields: Fields
  /** Where in the document the object lies that is shown; it is the document itself, if nothing is said. */
  readonly at?: string
  /** Whether a document is the last word about its object; always, if nothing is said. */
  readonly isFinal?: (document: Json) => boolean
  /** The part as which text beside calls is shown; such text is nobody's, if nothing is said. */
  readonly sideTextId?: string
  /** Why an object under the same identity, that an answer before this one has shown, is taken away before anything of this one is shown; asked when an answer begins. */
  readonly replaces?: () => string | undefined
}

/** What becomes of the text of one answer that is not shown as text. */
export interface AnswerSink {
  /** Goes on with the next piece of text: what it shows. */
  push(delta: string): Chunk[]
  /** What is to be said before a chunk. */
  before(chunk: Chunk): Chunk[]
  /** What is to be said at the end of an answer that calls somebody. */
  leave(): Chunk[]
  /** What is to be said where nothing will come of what was shown. */
  invalidate(reason: string): Chunk[]
  /** Says what is left at the end of an answer that calls nobody; gives its document, if it is to be one. Throws where that does not fit. */
  settle(write: (chunk: Chunk) => PromiseLike<void>): Promise<Json | undefined>
}

/** What makes a document of an agent's answer to a step, if the agent has an output. */
export function agentOutput(
  { name, output }: Agent,
  runId: string,
  agentId: string,
): (step: number) => OutputStream | undefined {
  return step =>
    output &&
    new OutputStream({
      schema: output.schema,
      shown: { streamId: outputStreamId(runId, agentId), dataType: name },
      fields: Object.fromEntries(outputFields(output.jsonSchema)),
      sideTextId: `${step}.aside`,
    })
}

/** The text of one answer, which is the output if the answer calls nobody; then it is told what a call needs first, and is text like any other. */
export class OutputStream implements AnswerSink {
  readonly #settings: OutputSettings
  readonly #watcher: FieldWatcher
  #text = ''
  /** Why what is shown of the object has to be taken away before anything else is. */
  #replaces: string | undefined
  /** Whether something of the object was shown. */
  #isBegun = false
  /** Whether readers could not tell the object from an array. */
  #isUnclear = false
  /** Whether the answer calls somebody, and whether its text is shown as such. */
  #isBesideCalls = false
  #isTextOpen = false

  constructor(settings: OutputSettings) {
    const { fields, at } = settings
    this.#settings = settings
    this.#replaces = settings.replaces?.()
    const placed = at === undefined ? fields : prefixed(fields, at)
    this.#watcher = new FieldWatcher(settings.shown ? placed : {})
  }

  /** Goes on with the next piece of text: what it shows. */
  push(delta: string): Chunk[] {
    const { shown, at } = this.#settings
    this.#text += delta
    const updates = this.#watcher.push(delta)
    if (this.#isBesideCalls) return this.#say(delta)
    if (updates.length === 0 || shown === undefined) return []
    const placed = at === undefined ? updates : this.#below(at, updates)
    if (placed.length === 0) return []
    return [...this.#show(), ...placed.map((update): Chunk => ({ type: 'structured-data', ...shown, ...update }))]
  }

  /** Updates by their paths in an object that is only a part of the document: all of it cannot be set while it streams. */
  #below(at: string, updates: readonly FieldUpdate[]): FieldUpdate[] {
    return updates.flatMap(update => {
      const path = update.path.slice(at.length + 1)
      // It begins with a numeric key: who has nothing of it would make an array of that, so it comes with the whole.
      if (path === '') this.#isUnclear = true
      if (path === '' || (this.#isUnclear && /^\d+(\.|$)/.test(path))) return []
      this.#isUnclear = false
      return [{ ...update, path }]
    })
  }

  /** What is to be said before a chunk: a call makes the text that came so far what it is, words beside it. */
  before(chunk: Chunk): Chunk[] {
    const isCall = chunk.type.startsWith('tool-input-') && !('executor' in chunk && chunk.executor === 'provider')
    if (!isCall || this.#isBesideCalls) return []
    this.#isBesideCalls = true
    return [...this.invalidate('tool-calls'), ...this.#say(this.#text)]
  }

  /** What is to be said at the end of an answer that calls somebody. */
  leave(): Chunk[] {
    const { sideTextId } = this.#settings
    return this.#isTextOpen && sideTextId !== undefined ? [{ type: 'text-end', id: sideTextId }] : []
  }

  /** What is to be said where nothing will come of what was shown. */
  invalidate(reason: string): Chunk[] {
    const { shown } = this.#settings
    const isShown = this.#isBegun && shown !== undefined
    this.#isBegun = false
    return isShown ? [{ type: 'structured-data-invalidated', streamId: shown.streamId, reason }] : []
  }

  /** Says the whole object, at the end of an answer that calls nobody; gives the document. Throws where it does not fit. */
  async settle(write: (chunk: Chunk) => PromiseLike<void>): Promise<Json> {
    const { schema, shown, at, isFinal } = this.#settings
    const document = this.#document()
    const checked = 'problem' in document ? document : await validate(schema, document.value)
    if ('problem' in checked) throw outputInvalid('the answer does not fit the output', new OutputProblem(checked))
    const value = jsonOf(checked.value)
    const data = at === undefined ? value : (Object(value) as { readonly [key: string]: Json })[at]
    if (shown && data !== undefined && (isFinal?.(value) ?? true)) {
      for (const chunk of this.#show()) await write(chunk)
      await write({ type: 'structured-data', ...shown, kind: 'final', data })
    }
    return value
  }

  /** What is to be said before the object is shown. */
  #show(): Chunk[] {
    this.#isBegun = true
    const { shown } = this.#settings
    const reason = this.#replaces
    this.#replaces = undefined
    return shown && reason !== undefined
      ? [{ type: 'structured-data-invalidated', streamId: shown.streamId, reason }]
      : []
  }

  #document(): { readonly value: Json } | { readonly problem: string; readonly cause?: unknown } {
    if (this.#watcher.end()) return { value: this.#watcher.json.value as Json }
    return { problem: this.#watcher.json.error?.message ?? 'it holds no JSON document' }
  }

  #say(delta: string): Chunk[] {
    const { sideTextId: id } = this.#settings
    if (delta === '' || id === undefined) return []
    const start: Chunk[] = this.#isTextOpen ? [] : [{ type: 'text-start', id }]
    this.#isTextOpen = true
    return [...start, { type: 'text-delta', id, delta }]
  }
}

const prefixed = (fields: Fields, at: string): Fields =>
  Object.fromEntries(Object.entries(fields).map(([path, kind]) => [`${at}.${path}`, kind]))

/** What is wrong with an answer, in words that may quote it: for who gave it and for the log of the process, as no reader may have seen it (law 10). */
class OutputProblem extends Error {
  constructor({ problem, cause }: { readonly problem: string; readonly cause?: unknown }) {
    super(problem, cause === undefined ? undefined : { cause })
    this.name = 'Problem'
  }
}

/** An answer that is not what was asked for; the model may do better. */
export const outputInvalid = (message: string, cause: unknown): MillraceError =>
  new MillraceError('output_invalid', message, { retryable: true, cause })

/** Why an answer was not taken, as the model is told. */
export const problemOf = ({ message, cause }: MillraceError): string =>
  cause instanceof OutputProblem ? `${message}: ${cause.message}` : message

/** What a schema makes of an answer must be JSON to be kept. */
function jsonOf(value: unknown): Json {
  try {
    return JSON.parse(JSON.stringify(value)) as Json
  } catch (cause) {
    throw new MillraceError('output_invalid', 'what the output’s schema makes of the answer is no JSON', { cause })
  }
}

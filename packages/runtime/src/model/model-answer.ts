// One answer of a model, as it streams: the provider's parts become chunks of a draft. What has to wait for the commit, because it is a fact, is kept here.

import type { LanguageModelV4StreamPart, SharedV4Warning } from '@ai-sdk/provider'
import type { Chunk, FinishReason, Json, JsonObject, Usage } from '@millrace/protocol'
import { unreadableError } from '../error/classify-provider-error.ts'
import { ProviderError } from '../error/error.ts'
import { excerpt } from '../error/excerpt.ts'
import { isAccepted, logErrorCode } from '../error/log-error.ts'
import { jsonLength } from '../schema/json.ts'
import { boundedMetadata, metadataOf, writeWithMetadata } from './provider-metadata.ts'
import { type AnswerTool, type RequestedCall, ToolCalls } from './tool-calls.ts'
import { anthropicStartUsage, finishReasonOf, usageOf } from './usage.ts'

/** What takes the text of an answer that is a JSON document. */
interface TextSink {
  push(delta: string): Iterable<Chunk>
}

export interface ModelAnswerOptions<Tool extends AnswerTool = AnswerTool> {
  readonly step: number
  /** What the ids of parts begin with, where others write into the same message: then nothing is said of the message as a whole. */
  readonly prefix?: string | undefined
  readonly tools: ReadonlyMap<string, Tool>
  /** Whether the session has a call by that id. */
  isTaken(toolCallId: string): boolean
  /** Takes an id for a call; false where the session has a call by it, or is about to. */
  reserve(toolCallId: string): boolean
  /** The longest id of a call that is taken from a provider as it is. */
  readonly longestId: number
  /** How often the session was taken back. */
  readonly rewinds: number
  /** Takes a word; may ask to wait. */
  write(chunk: Chunk): PromiseLike<void>
  /** Whether the log would take these facts in one commit. */
  fits(facts: readonly Chunk[]): boolean
  /** Where the text goes instead of a text part. */
  readonly sink?: TextSink | undefined
}

/** A part of content that only its provider understands, and gets back with the history. */
export const PROVIDER_CONTENT = 'data-provider-content'

type StreamPart<Type extends LanguageModelV4StreamPart['type']> = Extract<LanguageModelV4StreamPart, { type: Type }>
type TextKind = 'text' | 'reasoning'

export class ModelAnswer<Tool extends AnswerTool = AnswerTool> {
  usage: Usage | undefined
  finishReason: FinishReason | undefined
  providerMetadata: JsonObject | undefined
  /** What the provider calls it, for who looks for the cause of something. */
  raw: { readonly [what: string]: Json } = {}
  /** Why the answer is worth nothing, once the provider has said so. */
  failure: unknown
  /** All text so far. */
  text = ''
  /** Where in it the next part begins, and the last one that says something. */
  #nextAt = 0
  #lastAt = 0
  readonly #options: ModelAnswerOptions<Tool>
  readonly #calls: ToolCalls<Tool>
  readonly #warnings = new WarningList()
  /** The parts of text and reasoning that are open, by what the provider calls them. */
  readonly #open = new Map<string, { readonly kind: TextKind; readonly id: string }>()
  readonly #sources = new Set<string>()
  #count = 0

  constructor(options: ModelAnswerOptions<Tool>) {
    this.#options = options
    this.#calls = new ToolCalls({ ...options, write: this.#write, warn: this.#warn })
  }

  /** What people should know, and no part says. */
  get warnings(): readonly SharedV4Warning[] {
    return this.#warnings.list
  }

  /** What the commit says: the outcomes of tools that the provider ran, and the calls that clients are to run. */
  get facts(): readonly Chunk[] {
    return this.#calls.facts
  }

  /** How many calls the model is to be told the outcome of. */
  get calls(): number {
    return this.#calls.count
  }

  /** Those of them that have to run for that. */
  get made(): readonly RequestedCall<Tool>[] {
    return this.#calls.made
  }

  /** The ids of all calls: also of those that the provider ran, or that could not be made. */
  get callIds(): readonly string[] {
    return this.#calls.ids
  }

  /** Whether the provider has said that it is at its end. */
  get isWhole(): boolean {
    return this.finishReason !== undefined
  }

  /** The text of its last part that says something. */
  get lastText(): string {
    return this.text.slice(this.#lastAt)
  }

  /** Goes on with the next part. After a failure only what was used is of interest. */
  async take(part: LanguageModelV4StreamPart): Promise<void> {
    if (this.failure !== undefined && part?.type !== 'finish') return
    try {
      await this.#take(part)
    } catch (error) {
      throw isMalformedPart(error) ? unreadableError(error) : error
    }
  }

  async #take(part: LanguageModelV4StreamPart): Promise<void> {
    switch (part.type) {
      case 'text-start':
      case 'text-delta':
      case 'text-end':
        return this.#takeText(part)
      case 'reasoning-start':
        return this.#start('reasoning', part)
      case 'reasoning-delta':
        return this.#delta('reasoning', part)
      case 'reasoning-end':
        return this.#end('reasoning', part)
      case 'tool-input-start':
        return this.#calls.start(part)
      case 'tool-input-delta':
        return this.#calls.delta(part)
      case 'tool-input-end':
        return this.#calls.end(part)
      case 'tool-call':
        return this.#calls.make(part)
      case 'tool-result':
        return this.#calls.result(part)
      case 'source':
        return this.#source(part)
      case 'file':
      case 'reasoning-file':
        return this.#file(part)
      case 'custom':
        return this.#custom(part)
      case 'stream-start':
        for (const warning of part.warnings ?? []) this.#warnings.add(warning)
        return
      case 'response-metadata':
        return this.#response(part)
      case 'finish':
        return this.#finish(part)
      case 'error':
        this.failure = part.error ?? new ProviderError('provider_error', 'the provider reported an error without words')
        return
      case 'tool-approval-request':
        this.#warnings.add({ type: 'unsupported', feature: 'approval of calls that the provider runs' })
        return
      default:
        return
    }
  }

  async #takeText(part: StreamPart<'text-start'> | StreamPart<'text-delta'> | StreamPart<'text-end'>): Promise<void> {
    const { sink } = this.#options
    if (part.type === 'text-end') {
      for (const { source } of part.citations ?? []) await this.#source(source)
      return sink ? undefined : this.#end('text', part)
    }
    if (part.type === 'text-start') this.#nextAt = this.text.length
    if (part.type === 'text-start') return sink ? undefined : this.#start('text', part)
    if (typeof part.delta !== 'string') throw new TypeError('a piece of text is no text')
    if (part.delta !== '') this.#lastAt = this.#nextAt
    this.text += part.delta
    if (!sink) return this.#delta('text', part)
    for (const chunk of sink.push(part.delta)) await this.#write(chunk)
  }

  async #start(kind: TextKind, part: { readonly id: string; readonly providerMetadata?: unknown }): Promise<void> {
    // A provider that gives one id to parts in a row means another part each time.
    await this.#end(kind, { id: part.id })
    const id = this.#nextId()
    this.#open.set(`${kind}:${part.id}`, { kind, id })
    await this.#write({ type: `${kind}-start`, id, ...metadataOf(part) })
  }

  async #delta(kind: TextKind, part: StreamPart<'text-delta'> | StreamPart<'reasoning-delta'>): Promise<void> {
    const given = `${kind}:${part.id}`
    if (!this.#open.has(given)) this.#open.set(given, { kind, id: this.#nextId() })
    const { id } = this.#open.get(given) as { id: string }
    await this.#write({ type: `${kind}-delta`, id, delta: part.delta, ...metadataOf(part) })
  }

  async #end(kind: TextKind, part: { readonly id: string; readonly providerMetadata?: unknown }): Promise<void> {
    const given = `${kind}:${part.id}`
    const open = this.#open.get(given)
    if (!open) return
    this.#open.delete(given)
    await this.#write({ type: `${kind}-end`, id: open.id, ...metadataOf(part) })
  }

  /** Ids of parts are unique in their message, and the same when the step is tried again. */
  #nextId(): string {
    const { prefix = '', step } = this.#options
    return `${prefix}${step}.${++this.#count}`
  }

  /** A source is said once, whether it was found, cited or both. */
  async #source(part: StreamPart<'source'>): Promise<void> {
    if (part.id && this.#sources.has(part.id)) return
    this.#sources.add(part.id)
    const sourceId = this.#nextId()
    const { title } = part
    const about = { sourceId, ...(title !== undefined && { title }), ...metadataOf(part) }
    if (part.sourceType === 'url') return this.#offer({ type: 'source-url', url: part.url, ...about }, 'a source')
    const { mediaType, filename } = part
    const named = { mediaType, ...(filename !== undefined && { filename }) }
    return this.#offer({ type: 'source-document', ...named, ...about }, 'a source')
  }

  async #file(part: StreamPart<'file'> | StreamPart<'reasoning-file'>): Promise<void> {
    // Where several write one message, a part is known by its id.
    const named = this.#options.prefix !== undefined && { id: this.#nextId() }
    const { mediaType } = part
    await this.#offer({ type: 'file', ...named, url: urlOf(part), mediaType, ...metadataOf(part) }, 'a file')
  }

  async #custom(part: StreamPart<'custom'>): Promise<void> {
    this.usage = anthropicStartUsage(part) ?? this.usage
    // That an answer begins is no content.
    if (part.kind.endsWith('.message_start')) return
    const data = { kind: part.kind, ...metadataOf(part) }
    await this.#offer({ type: PROVIDER_CONTENT, id: this.#nextId(), data }, `content of the kind ${part.kind}`)
  }

  async #response({ id, modelId }: StreamPart<'response-metadata'>): Promise<void> {
    if (id === undefined && modelId === undefined) return
    const response = { ...(id !== undefined && { id }), ...(modelId !== undefined && { modelId }) }
    this.raw = { ...this.raw, response }
    if (this.#options.prefix !== undefined) return
    await this.#offer({ type: 'message-metadata', metadata: { response } }, 'what the provider says of its answer')
  }

  /** Says what an answer can do without; where it is too large, that is what is said. */
  async #offer(chunk: Chunk, what: string): Promise<void> {
    if (await isAccepted(() => this.#write(chunk))) return
    this.#warn(`${what} was left out: it is larger than the log takes`)
  }

  readonly #write = (chunk: Chunk): PromiseLike<void> => writeWithMetadata(chunk, this.#options.write, this.#warn)

  readonly #warn = (message: string): void => this.#warnings.add({ type: 'other', message })

  async #finish({ usage, finishReason, providerMetadata }: StreamPart<'finish'>): Promise<void> {
    this.usage = usageOf(usage) ?? this.usage
    this.providerMetadata = boundedMetadata(providerMetadata, this.#warn).providerMetadata
    if (this.failure !== undefined) return
    const { unified, raw } = finishReason
    if (raw !== undefined) this.raw = { ...this.raw, finishReason: raw }
    // What is no end must not look like one (law 7).
    if (unified === 'interrupted') this.failure = streamCutError()
    else if (unified === 'error') this.failure = providerStoppedError()
    else {
      for (const [given, { kind }] of this.#open) await this.#end(kind, { id: given.slice(kind.length + 1) })
      await this.#calls.close()
      this.finishReason = finishReasonOf(unified)
    }
  }
}

/** Whether an error says that a part is not what it should be: the log refuses it, or it has not what it must have. */
function isMalformedPart(error: unknown): boolean {
  return logErrorCode(error) === 'invalid' || error instanceof TypeError || error instanceof RangeError
}

/** The provider's stream ended before its end was said. */
export const streamCutError = (): ProviderError =>
  new ProviderError('provider_stream_cut', 'the provider’s answer was cut off', { retryable: true })

const providerStoppedError = (): ProviderError =>
  new ProviderError('provider_error', 'the provider broke its answer off', { retryable: true })

function urlOf({ data, mediaType }: StreamPart<'file'> | StreamPart<'reasoning-file'>): string {
  if (data.type === 'url') return data.originalUrl ?? data.url.href
  const base64 = typeof data.data === 'string' ? data.data : Buffer.from(data.data).toString('base64')
  return `data:${mediaType};base64,${base64}`
}

/** Maximum number of warnings that an answer keeps. One more says that there were more. */
const MAX_WARNINGS = 32
/** Maximum length of a warning as JSON, in characters. A longer one becomes an excerpt. */
const MAX_WARNING_LENGTH = 2000

/** The warnings of an answer, without repeats. Bounded, because the commit that contains them must fit the log. */
class WarningList {
  readonly list: SharedV4Warning[] = []
  readonly #known = new Set<string>()

  add(warning: SharedV4Warning): void {
    const kept = boundedWarning(warning)
    const text = JSON.stringify(kept)
    if (this.#known.has(text) || this.list.length > MAX_WARNINGS) return
    this.#known.add(text)
    const isLast = this.list.length === MAX_WARNINGS
    this.list.push(isLast ? { type: 'other', message: 'there were more warnings' } : kept)
  }
}

function boundedWarning(warning: SharedV4Warning): SharedV4Warning {
  const length = jsonLength(warning)
  if (length <= MAX_WARNING_LENGTH) return warning
  if (length === Number.POSITIVE_INFINITY) return { type: 'other', message: 'a warning that is no JSON' }
  return { type: 'other', message: excerpt(warning.type === 'other' ? warning.message : JSON.stringify(warning)) }
}

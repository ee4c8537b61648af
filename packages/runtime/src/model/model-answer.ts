// One streaming answer of a model. Converts the provider's stream parts to draft chunks, which are written at once, and to
// committed chunks, which are collected for the commit.

import type { LanguageModelV4StreamPart, SharedV4Warning } from '@ai-sdk/provider'
import type { Chunk, FinishReason, Json, JsonObject, Usage } from '@millrace/protocol'
import { excerpt } from '@millrace/protocol/internal'
import { describeType } from '../error/check-object.ts'
import { unreadableError } from '../error/classify-provider-error.ts'
import { ProviderError } from '../error/error.ts'
import { isAccepted, logErrorCode } from '../error/log-error-code.ts'
import { jsonLength } from '../schema/json.ts'
import { boundedMetadata, metadataOf, writeWithMetadata } from './provider-metadata.ts'
import { type AnswerTool, type RequestedCall, ToolCalls, type ToolCallsOptions } from './tool-calls.ts'
import { anthropicStartUsage, finishReasonOf, usageOf } from './usage.ts'

/** Receives the text of an answer that is a JSON document. */
interface TextSink {
  push(delta: string): Iterable<Chunk>
}

export interface ModelAnswerOptions<Tool extends AnswerTool = AnswerTool> extends Omit<ToolCallsOptions<Tool>, 'warn'> {
  /** Prefix of part ids, if several answers write to the same message. Then no message metadata is written. */
  readonly prefix?: string | undefined
  /** Receives the text instead of a text part. */
  readonly sink?: TextSink | undefined
}

/** Type of a data part with provider-specific content. The provider gets it back with the history. */
export const PROVIDER_CONTENT = 'data-provider-content'

type StreamPart<Type extends LanguageModelV4StreamPart['type']> = Extract<LanguageModelV4StreamPart, { type: Type }>
type TextKind = 'text' | 'reasoning'

export class ModelAnswer<Tool extends AnswerTool = AnswerTool> {
  usage: Usage | undefined
  finishReason: FinishReason | undefined
  providerMetadata: JsonObject | undefined
  /** Raw values of the provider, for debugging. */
  raw: { readonly [kind: string]: Json } = {}
  /** The error that the provider reported, if any. The answer must then be discarded. */
  failure: unknown
  /** All text received so far. */
  text = ''
  /** Offsets in `text` of the current text part, and of the last one that is not empty. */
  #partStart = 0
  #lastPartStart = 0
  readonly #options: ModelAnswerOptions<Tool>
  readonly #calls: ToolCalls<Tool>
  readonly #warnings = new WarningList()
  /** Open text and reasoning parts by kind and provider id. */
  readonly #open = new Map<string, { readonly kind: TextKind; readonly id: string }>()
  readonly #sources = new Set<string>()
  /** Number of part ids in use. */
  #idCount = 0

  constructor(options: ModelAnswerOptions<Tool>) {
    this.#options = options
    this.#calls = new ToolCalls({ ...options, write: this.#write, warn: this.#warn })
  }

  /** Warnings for the user. */
  get warnings(): readonly SharedV4Warning[] {
    return this.#warnings.list
  }

  /** The chunks for the commit: outputs of provider tools, and calls of client tools. */
  get committedChunks(): readonly Chunk[] {
    return this.#calls.committedChunks
  }

  /** Number of calls whose outcome the model expects. */
  get calls(): number {
    return this.#calls.count
  }

  /** The calls among them that have to be executed. */
  get requestedCalls(): readonly RequestedCall<Tool>[] {
    return this.#calls.requested
  }

  /** The ids of all calls, including calls of provider tools and invalid ones. */
  get callIds(): readonly string[] {
    return this.#calls.ids
  }

  /** Whether the provider sent the finish part. */
  get isComplete(): boolean {
    return this.finishReason !== undefined
  }

  /** The text of the last text part that is not empty. */
  get lastText(): string {
    return this.text.slice(this.#lastPartStart)
  }

  /** Processes the next stream part. After a failure only the usage of the finish part matters. */
  async onPart(part: LanguageModelV4StreamPart): Promise<void> {
    if (this.failure !== undefined && part?.type !== 'finish') return
    try {
      await this.#onPart(part)
    } catch (error) {
      throw isMalformedPart(error) ? unreadableError(error) : error
    }
  }

  async #onPart(part: LanguageModelV4StreamPart): Promise<void> {
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
        return this.#calls.complete(part)
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
        this.failure =
          part.error ?? new ProviderError('provider_error', 'the provider reported an error without details')
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
    if (part.type === 'text-start') this.#partStart = this.text.length
    if (part.type === 'text-start') return sink ? undefined : this.#start('text', part)
    if (typeof part.delta !== 'string')
      throw new TypeError(`text-delta.delta: expected a string, found ${describeType(part.delta)}`)
    if (part.delta !== '') this.#lastPartStart = this.#partStart
    this.text += part.delta
    if (!sink) return this.#delta('text', part)
    for (const chunk of sink.push(part.delta)) await this.#write(chunk)
  }

  async #start(kind: TextKind, part: { readonly id: string; readonly providerMetadata?: unknown }): Promise<void> {
    // A provider may reuse an id for consecutive parts.
    await this.#end(kind, { id: part.id })
    const id = this.#nextId()
    this.#open.set(`${kind}:${part.id}`, { kind, id })
    await this.#write({ type: `${kind}-start`, id, ...metadataOf(part) })
  }

  async #delta(kind: TextKind, part: StreamPart<'text-delta'> | StreamPart<'reasoning-delta'>): Promise<void> {
    const key = `${kind}:${part.id}`
    if (!this.#open.has(key)) this.#open.set(key, { kind, id: this.#nextId() })
    const { id } = this.#open.get(key) as { id: string }
    await this.#write({ type: `${kind}-delta`, id, delta: part.delta, ...metadataOf(part) })
  }

  async #end(kind: TextKind, part: { readonly id: string; readonly providerMetadata?: unknown }): Promise<void> {
    const key = `${kind}:${part.id}`
    const open = this.#open.get(key)
    if (!open) return
    this.#open.delete(key)
    await this.#write({ type: `${kind}-end`, id: open.id, ...metadataOf(part) })
  }

  /** Part ids are unique in their message, and the same in every attempt of the step. */
  #nextId(): string {
    const { prefix = '', step } = this.#options
    return `${prefix}${step}.${++this.#idCount}`
  }

  /** Writes each source once, also if it is both listed and cited. */
  async #source(part: StreamPart<'source'>): Promise<void> {
    if (part.id && this.#sources.has(part.id)) return
    this.#sources.add(part.id)
    const sourceId = this.#nextId()
    const { title } = part
    const fields = { sourceId, ...(title !== undefined && { title }), ...metadataOf(part) }
    if (part.sourceType === 'url')
      return this.#writeOptional({ type: 'source-url', url: part.url, ...fields }, 'a source')
    const { mediaType, filename } = part
    const document = { mediaType, ...(filename !== undefined && { filename }) }
    return this.#writeOptional({ type: 'source-document', ...document, ...fields }, 'a source')
  }

  async #file(part: StreamPart<'file'> | StreamPart<'reasoning-file'>): Promise<void> {
    // Parts need an id if several answers write to the message.
    const named = this.#options.prefix !== undefined && { id: this.#nextId() }
    const { mediaType } = part
    await this.#writeOptional({ type: 'file', ...named, url: urlOf(part), mediaType, ...metadataOf(part) }, 'a file')
  }

  async #custom(part: StreamPart<'custom'>): Promise<void> {
    this.usage = anthropicStartUsage(part) ?? this.usage
    // The start of a message is not content.
    if (part.kind.endsWith('.message_start')) return
    const data = { kind: part.kind, ...metadataOf(part) }
    await this.#writeOptional({ type: PROVIDER_CONTENT, id: this.#nextId(), data }, `content of kind ${part.kind}`)
  }

  async #response({ id, modelId }: StreamPart<'response-metadata'>): Promise<void> {
    if (id === undefined && modelId === undefined) return
    const response = { ...(id !== undefined && { id }), ...(modelId !== undefined && { modelId }) }
    this.raw = { ...this.raw, response }
    if (this.#options.prefix !== undefined) return
    await this.#writeOptional({ type: 'message-metadata', metadata: { response } }, 'the response metadata')
  }

  /** Writes an optional chunk, or a warning if the log does not accept it. */
  async #writeOptional(chunk: Chunk, label: string): Promise<void> {
    if (await isAccepted(() => this.#write(chunk))) return
    this.#warn(`${label} was dropped: it exceeds the size limit of the log`)
  }

  readonly #write = (chunk: Chunk): PromiseLike<void> => writeWithMetadata(chunk, this.#options.write, this.#warn)

  readonly #warn = (message: string): void => this.#warnings.add({ type: 'other', message })

  async #finish({ usage, finishReason, providerMetadata }: StreamPart<'finish'>): Promise<void> {
    this.usage = usageOf(usage) ?? this.usage
    this.providerMetadata = boundedMetadata(providerMetadata, this.#warn).providerMetadata
    if (this.failure !== undefined) return
    const { unified, raw } = finishReason
    if (raw !== undefined) this.raw = { ...this.raw, finishReason: raw }
    // An interrupted answer must not look finished (law 7).
    if (unified === 'interrupted') this.failure = streamCutError()
    else if (unified === 'error') this.failure = providerStoppedError()
    else {
      for (const [key, { kind }] of this.#open) await this.#end(kind, { id: key.slice(kind.length + 1) })
      await this.#calls.close()
      this.finishReason = finishReasonOf(unified)
    }
  }
}

/** Whether an error means that a stream part is malformed: the log rejected it, or a field is missing. */
function isMalformedPart(error: unknown): boolean {
  return logErrorCode(error) === 'invalid' || error instanceof TypeError || error instanceof RangeError
}

/** The error for a stream that ended without a finish part. */
export const streamCutError = (): ProviderError =>
  new ProviderError('provider_stream_cut', 'the provider’s answer was cut off', { retryable: true })

const providerStoppedError = (): ProviderError =>
  new ProviderError('provider_error', 'the provider stopped its answer with an error', { retryable: true })

function urlOf({ data, mediaType }: StreamPart<'file'> | StreamPart<'reasoning-file'>): string {
  if (data.type === 'url') return data.originalUrl ?? data.url.href
  const base64 = typeof data.data === 'string' ? data.data : Buffer.from(data.data).toString('base64')
  return `data:${mediaType};base64,${base64}`
}

/** Maximum number of warnings that an answer keeps. One more warning reports that others were dropped. */
const MAX_WARNINGS = 32
/** Maximum length of a warning as JSON, in characters. A longer one becomes an excerpt. */
const MAX_WARNING_LENGTH = 2000

/** The warnings of an answer, without repeats. Bounded, because the commit that contains them must fit the log. */
class WarningList {
  readonly list: SharedV4Warning[] = []
  readonly #texts = new Set<string>()

  add(warning: SharedV4Warning): void {
    const bounded = boundedWarning(warning)
    const text = JSON.stringify(bounded)
    if (this.#texts.has(text) || this.list.length > MAX_WARNINGS) return
    this.#texts.add(text)
    const isLast = this.list.length === MAX_WARNINGS
    this.list.push(isLast ? { type: 'other', message: 'there were more warnings' } : bounded)
  }
}

function boundedWarning(warning: SharedV4Warning): SharedV4Warning {
  const length = jsonLength(warning)
  if (length <= MAX_WARNING_LENGTH) return warning
  if (length === Number.POSITIVE_INFINITY) return { type: 'other', message: 'a warning that is not JSON' }
  return { type: 'other', message: excerpt(warning.type === 'other' ? warning.message : JSON.stringify(warning)) }
}

// One answer of a model, as it streams: the provider's parts become chunks of a draft. What has to wait for the commit, because it is a fact, is kept here.

import type { LanguageModelV4StreamPart, SharedV4Warning } from '@ai-sdk/provider'
import type { Chunk, FinishReason, Json, JsonObject, Usage } from '@millrace/protocol'
import { ProviderError } from '../error/error.ts'
import { validate } from '../schema/schema.ts'
import type { AnyTool } from '../tool/tool.ts'
import { finishReasonOf, usageOf } from './usage.ts'

/** What takes the text of an answer that is a JSON document. */
export interface TextSink {
  push(delta: string): Iterable<Chunk>
}

export interface AnswerOptions {
  readonly step: number
  readonly tools: ReadonlyMap<string, AnyTool>
  /** Whether the session has a call by that id. */
  isTaken(toolCallId: string): boolean
  /** Takes a word; may ask to wait. */
  write(chunk: Chunk): PromiseLike<void>
  /** Where the text goes instead of a text part. */
  readonly sink?: TextSink | undefined
}

/** The longest id of a call that is taken from a provider as it is. */
const LONGEST_ID = 256

type Part<Type extends LanguageModelV4StreamPart['type']> = Extract<LanguageModelV4StreamPart, { type: Type }>

/** A part of text or reasoning, at its start, in its middle or at its end. */
interface Named {
  readonly type: `${'text' | 'reasoning'}-${'start' | 'delta' | 'end'}`
  readonly id: string
  readonly providerMetadata?: unknown
}

export class Answer {
  /** What the commit says: the outcomes of tools that the provider ran. */
  readonly facts: Chunk[] = []
  readonly warnings: SharedV4Warning[] = []
  /** How many calls the model is to be told the outcome of, and how many of them have to run for that. */
  calls = 0
  open = 0
  usage: Usage | undefined
  finishReason: FinishReason | undefined
  providerMetadata: JsonObject | undefined
  /** All text so far. */
  text = ''
  readonly #options: AnswerOptions
  readonly #parts = new Map<string, string>()
  readonly #callIds = new Map<string, string>()
  #count = 0

  constructor(options: AnswerOptions) {
    this.#options = options
  }

  /** Whether the provider has said that it is at its end. */
  get isWhole(): boolean {
    return this.finishReason !== undefined
  }

  /** Goes on with the next part; throws what the provider reports as an error. */
  async take(part: LanguageModelV4StreamPart): Promise<void> {
    const { write, sink } = this.#options
    switch (part.type) {
      case 'text-delta':
        this.text += part.delta
        if (!sink) return write({ ...this.#named(part), delta: part.delta })
        for (const chunk of sink.push(part.delta)) await write(chunk)
        return
      case 'text-start':
      case 'text-end':
        return sink ? undefined : write(this.#named(part))
      case 'reasoning-delta':
        return write({ ...this.#named(part), delta: part.delta })
      case 'reasoning-start':
      case 'reasoning-end':
        return write(this.#named(part))
      case 'tool-input-start':
        return this.#startInput(part)
      case 'tool-input-delta':
        return write({ type: 'tool-input-delta', toolCallId: this.#callId(part.id), delta: part.delta })
      case 'tool-call':
        return this.#call(part)
      case 'tool-result':
        return this.#result(part)
      case 'source':
        return write(this.#source(part))
      case 'file':
      case 'reasoning-file':
        return write({ type: 'file', url: urlOf(part), mediaType: part.mediaType, ...metadataOf(part) })
      case 'stream-start':
        this.warnings.push(...part.warnings)
        return
      case 'response-metadata':
        return this.#response(part)
      case 'finish':
        this.usage = usageOf(part.usage)
        this.finishReason = finishReasonOf(part.finishReason)
        this.providerMetadata = part.providerMetadata as JsonObject | undefined
        return
      case 'error':
        throw part.error ?? new ProviderError('provider_error', 'the provider reported an error without words')
      case 'custom':
      case 'tool-approval-request':
        this.warnings.push({ type: 'unsupported', feature: `${part.type} parts` })
        return
      default:
        return
    }
  }

  /** Ids of parts are unique in their message, and the same when the step is tried again. */
  #named<T extends Named>({
    type,
    id,
    providerMetadata,
  }: T): Pick<T, 'type'> & { id: string; providerMetadata?: JsonObject } {
    const kind = type.slice(0, type.indexOf('-'))
    const given = `${kind}:${id}`
    const own = this.#parts.get(given) ?? `${this.#options.step}.${++this.#count}`
    // A provider that gives one id to parts in a row means another part each time.
    if (type.endsWith('-end')) this.#parts.delete(given)
    else this.#parts.set(given, own)
    return { type, id: own, ...metadataOf({ providerMetadata }) }
  }

  /** Calls are known by their ids in the whole session: one that was used before gets another. */
  #callId(given: string): string {
    const known = this.#callIds.get(given)
    if (known !== undefined) return known
    const base = given && given.length <= LONGEST_ID ? given : `call-${this.#options.step}.${this.#callIds.size + 1}`
    const own = new Set(this.#callIds.values())
    let id = base
    for (let n = 2; own.has(id) || this.#options.isTaken(id); n++) id = `${base}.${n}`
    this.#callIds.set(given, id)
    return id
  }

  #startInput(part: Part<'tool-input-start'>): PromiseLike<void> {
    return this.#options.write({
      type: 'tool-input-start',
      toolCallId: this.#callId(part.id),
      toolName: part.toolName,
      ...this.#about(part.toolName, part.providerExecuted),
      ...(part.title !== undefined && { title: part.title }),
      ...(part.dynamic && { dynamic: true }),
      ...metadataOf(part),
    })
  }

  #about(toolName: string, providerExecuted = false): { executor: 'server' | 'provider'; title?: string } {
    const tool = this.#options.tools.get(toolName)
    if (providerExecuted || tool?.executor === 'provider') return { executor: 'provider' }
    return { executor: 'server', ...(tool?.title !== undefined && { title: tool.title }) }
  }

  async #call(part: Part<'tool-call'>): Promise<void> {
    const { tools, write } = this.#options
    const { toolName } = part
    const toolCallId = this.#callId(part.toolCallId)
    const about = this.#about(toolName, part.providerExecuted)
    const isProviders = about.executor === 'provider'
    if (!isProviders) this.calls++
    const read = inputOf(part.input)
    const refuse = (errorText: string, partialInput?: Json) =>
      write({
        type: 'tool-input-error',
        toolCallId,
        toolName,
        errorText,
        ...(partialInput !== undefined && { partialInput }),
      })
    if ('problem' in read) return refuse(`the input is no JSON: ${read.problem}`, part.input)
    const tool = tools.get(toolName)
    if (!isProviders && tool?.executor !== 'server') {
      const names = [...tools.keys()]
      return refuse(`there is no tool ${toolName}${names.length > 0 ? `, only ${names.join(', ')}` : ''}`, read.value)
    }
    if (tool?.executor === 'server') {
      const checked = await validate(tool.input, read.value)
      if ('problem' in checked) return refuse(`the input does not fit: ${checked.problem}`, read.value)
    }
    if (!isProviders) this.open++
    return write({
      type: 'tool-input-available',
      toolCallId,
      toolName,
      input: read.value,
      ...about,
      ...(part.dynamic && { dynamic: true }),
      ...metadataOf(part),
    })
  }

  #result(part: Part<'tool-result'>): PromiseLike<void> | undefined {
    const toolCallId = this.#callId(part.toolCallId)
    if (part.isError) {
      const errorText = typeof part.result === 'string' ? part.result : JSON.stringify(part.result)
      this.facts.push({ type: 'tool-output-error', toolCallId, errorText })
      return undefined
    }
    const output: Chunk = {
      type: 'tool-output-available',
      toolCallId,
      output: part.result as Json,
      ...metadataOf(part),
    }
    if (part.preliminary) return this.#options.write({ ...output, preliminary: true })
    this.facts.push(output)
    return undefined
  }

  #source(part: Part<'source'>): Chunk {
    const sourceId = `${this.#options.step}.${++this.#count}`
    if (part.sourceType === 'url') {
      const { url, title } = part
      return { type: 'source-url', sourceId, url, ...(title !== undefined && { title }), ...metadataOf(part) }
    }
    const { title, mediaType, filename } = part
    return {
      type: 'source-document',
      sourceId,
      title,
      mediaType,
      ...(filename !== undefined && { filename }),
      ...metadataOf(part),
    }
  }

  #response({ id, modelId }: Part<'response-metadata'>): PromiseLike<void> | undefined {
    if (id === undefined && modelId === undefined) return undefined
    const response = { ...(id !== undefined && { id }), ...(modelId !== undefined && { modelId }) }
    return this.#options.write({ type: 'message-metadata', metadata: { response } })
  }
}

const metadataOf = (part: { readonly providerMetadata?: unknown }): { providerMetadata?: JsonObject } =>
  part.providerMetadata ? { providerMetadata: part.providerMetadata as JsonObject } : {}

/** A call without arguments may come with no text at all. */
function inputOf(text: string): { readonly value: Json } | { readonly problem: string } {
  if (text.trim() === '') return { value: {} }
  try {
    return { value: JSON.parse(text) as Json }
  } catch (error) {
    return { problem: (error as Error).message }
  }
}

function urlOf({ data, mediaType }: Part<'file'> | Part<'reasoning-file'>): string {
  if (data.type === 'url') return data.url.href
  const base64 = typeof data.data === 'string' ? data.data : Buffer.from(data.data).toString('base64')
  return `data:${mediaType};base64,${base64}`
}

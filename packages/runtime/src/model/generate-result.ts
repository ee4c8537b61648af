// Converts between the result of `doGenerate` and the stream parts of `doStream`.

import type {
  LanguageModelV3,
  LanguageModelV3StreamPart,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4GenerateResult,
  LanguageModelV4Reasoning,
  LanguageModelV4StreamPart,
  LanguageModelV4Text,
} from '@ai-sdk/provider'
import { unreadableError } from '../error/classify-provider-error.ts'
import { fromV3 } from './from-v3.ts'
import { asV4, type Model } from './model.ts'

type PartStream = ReadableStream<LanguageModelV4StreamPart>

/**
 * Calls `doGenerate` and returns its result as a stream of parts.
 * @param model as the provider created it: a model that `asV4` adapted has no `doGenerate`
 */
export async function generateAsStream(
  model: Model,
  options: LanguageModelV4CallOptions,
): Promise<{ stream: PartStream }> {
  if (model.specificationVersion === 'v3') return fromV3(nonStreamingV3(model)).doStream(options)
  return { stream: streamOf(await model.doGenerate(options), options.responseFormat?.type === 'json') }
}

/** Wrapped models by their originals, so that `learnFromWarnings` finds the same object for all calls of a model. */
const nonStreamingModels = new WeakMap<Model, Model>()

/** Wraps a model so that `doGenerate` is called instead of `doStream`. */
export function nonStreamingModel(model: Model): Model {
  const existing = nonStreamingModels.get(model)
  if (existing) return existing
  const { provider, modelId, supportedUrls } = asV4(model)
  const { supportsStructuredOutputs } = model as { readonly supportsStructuredOutputs?: unknown }
  const wrapped: LanguageModelV4 = {
    specificationVersion: 'v4',
    provider,
    modelId,
    supportedUrls,
    doGenerate: options => asV4(model).doGenerate(options),
    doStream: options => generateAsStream(model, options),
    // Not part of the interface, but read by `jsonFormatOf`.
    ...(supportsStructuredOutputs !== undefined && { supportsStructuredOutputs }),
  }
  nonStreamingModels.set(model, wrapped)
  return wrapped
}

/** A v3 model whose `doStream` uses `doGenerate`, so that `fromV3` can adapt it. */
const nonStreamingV3 = (model: LanguageModelV3): LanguageModelV3 => ({
  specificationVersion: 'v3',
  provider: model.provider,
  modelId: model.modelId,
  supportedUrls: model.supportedUrls,
  doGenerate: options => model.doGenerate(options),
  async doStream(options) {
    // Results of v3 and v4 differ only in file data, which is passed through.
    const result = (await model.doGenerate(options)) as unknown as LanguageModelV4GenerateResult
    const stream: unknown = streamOf(result, options.responseFormat?.type === 'json')
    return { stream: stream as ReadableStream<LanguageModelV3StreamPart> }
  },
})

function streamOf(result: LanguageModelV4GenerateResult, isJson: boolean): PartStream {
  const parts = partsOf(result, isJson)
  return new ReadableStream(
    {
      pull(controller) {
        try {
          const { done, value } = parts.next()
          if (done) controller.close()
          else controller.enqueue(value)
        } catch (error) {
          controller.error(unreadableError(error))
        }
      },
    },
    { highWaterMark: 0 },
  )
}

function* partsOf(
  result: LanguageModelV4GenerateResult,
  isJson: boolean,
): Generator<LanguageModelV4StreamPart, void, void> {
  const { content, structuredOutputText: document, warnings, response, usage, finishReason, providerMetadata } = result
  yield { type: 'stream-start', warnings: warnings ?? [] }
  if (response) yield responseOf(response)
  // A stream cannot mark which text is the JSON document. If JSON is requested, the document replaces all text.
  const hasDocument = isJson && document !== undefined
  for (const [index, item] of content.entries()) {
    if (!hasDocument || item.type !== 'text') yield* contentOf(item, `${index}`)
  }
  if (hasDocument) yield* contentOf({ type: 'text', text: document }, `${content.length}`)
  yield { type: 'finish', usage, finishReason, ...(providerMetadata && { providerMetadata }) }
}

/** The response metadata of a stream: without body and headers. */
function responseOf({ id, timestamp, modelId }: NonNullable<LanguageModelV4GenerateResult['response']>) {
  const fields = { ...(id !== undefined && { id }), ...(modelId !== undefined && { modelId }) }
  return { type: 'response-metadata', ...fields, ...(timestamp !== undefined && { timestamp }) } as const
}

function* contentOf(item: LanguageModelV4Content, id: string): Generator<LanguageModelV4StreamPart, void, void> {
  if (item.type !== 'text' && item.type !== 'reasoning') return yield item
  const { type, text, providerMetadata } = item
  yield { type: `${type}-start`, id }
  if (text !== '') yield { type: `${type}-delta`, id, delta: text }
  const citations = item.type === 'text' && item.citations ? { citations: item.citations } : {}
  yield { type: `${type}-end`, id, ...citations, ...(providerMetadata && { providerMetadata }) }
}

type FinishFields = Pick<LanguageModelV4GenerateResult, 'usage' | 'finishReason' | 'providerMetadata'>

/** Reads a stream and returns its parts as one result. @throws the error of the stream, or an error if it has no finish part. */
export async function collectStream(
  stream: ReadableStream<LanguageModelV4StreamPart>,
): Promise<LanguageModelV4GenerateResult> {
  const content: LanguageModelV4Content[] = []
  const warnings: LanguageModelV4GenerateResult['warnings'] = []
  const open = new Map<string, LanguageModelV4Text | LanguageModelV4Reasoning>()
  let response: LanguageModelV4GenerateResult['response']
  let finish: FinishFields | undefined
  /** The content of a text part. A delta without a start opens one. */
  const textOf = (type: 'text' | 'reasoning', id: string, isNew: boolean) => {
    const existing = isNew ? undefined : open.get(`${type}:${id}`)
    if (existing) return existing
    const text: LanguageModelV4Text | LanguageModelV4Reasoning = { type, text: '' }
    open.set(`${type}:${id}`, text)
    content.push(text)
    return text
  }
  const reader = stream.getReader()
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    const part = next.value
    switch (part.type) {
      case 'text-start':
      case 'text-delta':
      case 'text-end':
      case 'reasoning-start':
      case 'reasoning-delta':
      case 'reasoning-end': {
        const [type, phase] = part.type.split('-') as ['text' | 'reasoning', string]
        const text = textOf(type, part.id, phase === 'start')
        if ('delta' in part) text.text += part.delta
        if ('citations' in part && part.citations) Object.assign(text, { citations: part.citations })
        if (part.providerMetadata) text.providerMetadata = part.providerMetadata
        break
      }
      case 'stream-start':
        warnings.push(...part.warnings)
        break
      case 'response-metadata': {
        const { type, ...fields } = part
        response = fields
        break
      }
      case 'finish': {
        const { type, ...fields } = part
        finish = fields
        break
      }
      case 'error':
        throw part.error
      case 'tool-input-start':
      case 'tool-input-delta':
      case 'tool-input-end':
      case 'ping':
      case 'raw':
        // The tool-call part contains the complete input.
        break
      default:
        content.push(part)
    }
  }
  if (!finish) throw new Error('the stream ended without a finish part')
  return { content, warnings, ...finish, ...(response && { response }) }
}

// An answer that comes whole, as the parts of one that streams: who hears it need not know the difference.

import type {
  LanguageModelV3,
  LanguageModelV3StreamPart,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider'
import { unreadable } from '../error/classify-provider-error.ts'
import { fromV3 } from './from-v3.ts'
import { asV4, type Model } from './model.ts'

type Stream = ReadableStream<LanguageModelV4StreamPart>

/** Asks for a whole answer, and gives it as the parts that a stream of it would have; takes a model as its provider gave it, not an adapted one, which only streams. */
export async function generated(model: Model, options: LanguageModelV4CallOptions): Promise<{ stream: Stream }> {
  if (model.specificationVersion === 'v3') return fromV3(wholeV3(model)).doStream(options)
  return { stream: streamOf(await model.doGenerate(options), options.responseFormat?.type === 'json') }
}

/** Models that answer whole, by those that could stream: what is known of one is known of it whenever it is asked for. */
const whole = new WeakMap<Model, Model>()

/** The same model, asked for whole answers. */
export function unstreamed(model: Model): Model {
  const known = whole.get(model)
  if (known) return known
  const { provider, modelId, supportedUrls } = asV4(model)
  const { supportsStructuredOutputs } = model as { readonly supportsStructuredOutputs?: unknown }
  const made: LanguageModelV4 = {
    specificationVersion: 'v4',
    provider,
    modelId,
    supportedUrls,
    doGenerate: options => asV4(model).doGenerate(options),
    doStream: options => generated(model, options),
    // What some say of themselves beyond the interface.
    ...(supportsStructuredOutputs !== undefined && { supportsStructuredOutputs }),
  }
  whole.set(model, made)
  return made
}

/** A model of version v3 whose streams are whole answers, so that there is one way to speak to it. */
const wholeV3 = (model: LanguageModelV3): LanguageModelV3 => ({
  specificationVersion: 'v3',
  provider: model.provider,
  modelId: model.modelId,
  supportedUrls: model.supportedUrls,
  doGenerate: options => model.doGenerate(options),
  async doStream(options) {
    // They differ only in how a file is told, which is not looked at here.
    const result = (await model.doGenerate(options)) as unknown as LanguageModelV4GenerateResult
    const stream: unknown = streamOf(result, options.responseFormat?.type === 'json')
    return { stream: stream as ReadableStream<LanguageModelV3StreamPart> }
  },
})

function streamOf(result: LanguageModelV4GenerateResult, isJson: boolean): Stream {
  const parts = partsOf(result, isJson)
  return new ReadableStream(
    {
      pull(controller) {
        try {
          const { done, value } = parts.next()
          if (done) controller.close()
          else controller.enqueue(value)
        } catch (error) {
          controller.error(unreadable(error))
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
  // A stream has no place to say which of its text is the document: where one is asked for, it is all of the text.
  const isApart = isJson && document !== undefined
  for (const [index, item] of content.entries()) {
    if (!isApart || item.type !== 'text') yield* contentOf(item, `${index}`)
  }
  if (isApart) yield* contentOf({ type: 'text', text: document }, `${content.length}`)
  yield { type: 'finish', usage, finishReason, ...(providerMetadata && { providerMetadata }) }
}

/** Who answered and when; not the body and headers, which a stream does not tell. */
function responseOf({ id, timestamp, modelId }: NonNullable<LanguageModelV4GenerateResult['response']>) {
  const about = { ...(id !== undefined && { id }), ...(modelId !== undefined && { modelId }) }
  return { type: 'response-metadata', ...about, ...(timestamp !== undefined && { timestamp }) } as const
}

function* contentOf(item: LanguageModelV4Content, id: string): Generator<LanguageModelV4StreamPart, void, void> {
  if (item.type !== 'text' && item.type !== 'reasoning') return yield item
  const { type, text, providerMetadata } = item
  yield { type: `${type}-start`, id }
  if (text !== '') yield { type: `${type}-delta`, id, delta: text }
  const citations = item.type === 'text' && item.citations ? { citations: item.citations } : {}
  yield { type: `${type}-end`, id, ...citations, ...(providerMetadata && { providerMetadata }) }
}

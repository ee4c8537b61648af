import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider'
import { expect, test } from 'vitest'
import { MillraceError } from '../error/error.ts'
import { anthropicProvider, openaiProvider } from '../test/providers/providers.fixture.ts'
import { anthropic, openaiWire, rawServer } from '../test/providers/raw-server.fixture.ts'
import { generateAsStream } from './generate-result.ts'
import { readAnswer } from './model-answer.fixture.ts'

const usage = {
  inputTokens: { total: 9, noCache: 5, cacheRead: 4, cacheWrite: 0 },
  outputTokens: { total: 3, text: 3, reasoning: 0 },
}
const end = { usage, finishReason: { unified: 'stop', raw: 'end_turn' }, warnings: [] } as const
const prompt: LanguageModelV4CallOptions['prompt'] = [{ role: 'user', content: [{ type: 'text', text: 'Hello?' }] }]

function wholeModel(result: object) {
  const calls: LanguageModelV4CallOptions[] = []
  const model: LanguageModelV4 = {
    specificationVersion: 'v4',
    provider: 'maker',
    modelId: 'whole',
    supportedUrls: {},
    async doGenerate(options) {
      calls.push(options)
      return result as LanguageModelV4GenerateResult
    },
    async doStream() {
      throw new Error('it was not to stream')
    },
  }
  return { model, calls }
}

async function read(stream: ReadableStream<LanguageModelV4StreamPart>) {
  const parts: LanguageModelV4StreamPart[] = []
  const reader = stream.getReader()
  for (let next = await reader.read(); !next.done; next = await reader.read()) parts.push(next.value)
  return parts
}

async function partsOf(result: object, options: Partial<LanguageModelV4CallOptions> = {}) {
  const { stream } = await generateAsStream(wholeModel(result).model, { prompt, ...options })
  return read(stream)
}

test('converts all content to parts in order', async () => {
  const signed = { providerMetadata: { maker: { signature: 's' } } }
  const source = { type: 'source', sourceType: 'url', id: 'u', url: 'https://example.org' } as const
  const citations = [{ source, startIndex: 0, endIndex: 2 }]
  const call = { type: 'tool-call', toolCallId: 'c', toolName: 'look', input: '{"city":"Ulm"}' } as const
  const ran = { type: 'tool-result', toolCallId: 'd', toolName: 'search', result: ['x'] } as const
  const file = { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AQID' } } as const
  const custom = { type: 'custom', kind: 'maker.note' } as const
  const warnings = [{ type: 'unsupported', feature: 'seed' }]
  const timestamp = new Date(5)
  const parts = await partsOf({
    ...end,
    warnings,
    content: [
      { type: 'reasoning', text: 'I think.', ...signed },
      { type: 'text', text: 'So it is.', citations, ...signed },
      source,
      file,
      call,
      ran,
      custom,
      { type: 'text', text: '' },
    ],
    response: { id: 'r', modelId: 'm', timestamp, headers: { key: 'secret' }, body: {} },
    ...signed,
  })
  expect(parts).toEqual([
    { type: 'stream-start', warnings },
    { type: 'response-metadata', id: 'r', modelId: 'm', timestamp },
    { type: 'reasoning-start', id: '0' },
    { type: 'reasoning-delta', id: '0', delta: 'I think.' },
    { type: 'reasoning-end', id: '0', ...signed },
    { type: 'text-start', id: '1' },
    { type: 'text-delta', id: '1', delta: 'So it is.' },
    { type: 'text-end', id: '1', citations, ...signed },
    source,
    file,
    call,
    ran,
    custom,
    { type: 'text-start', id: '7' },
    { type: 'text-end', id: '7' },
    { type: 'finish', usage, finishReason: end.finishReason, ...signed },
  ])
})

test('calls the model once with the same options', async () => {
  const { model, calls } = wholeModel({ ...end, content: [] })
  const options = { prompt, temperature: 0.5, abortSignal: new AbortController().signal }
  await read((await generateAsStream(model, options)).stream)
  expect(calls).toEqual([options])
  expect(calls[0]?.abortSignal).toBe(options.abortSignal)
})

test('replaces all text by the structured output if JSON is requested', async () => {
  const result = {
    ...end,
    content: [
      { type: 'text', text: 'A draft: {"a":' },
      { type: 'reasoning', text: 'No.' },
      { type: 'text', text: '{"a":1}' },
    ],
    structuredOutputText: '{"a":1}',
  }
  const textOf = (parts: LanguageModelV4StreamPart[]) =>
    parts.flatMap(part => (part.type === 'text-delta' ? part.delta : []))
  const parts = await partsOf(result, { responseFormat: { type: 'json' } })
  expect(textOf(parts)).toEqual(['{"a":1}'])
  expect(parts).toContainEqual({ type: 'reasoning-delta', id: '1', delta: 'No.' })
  expect(textOf(await partsOf({ ...result, structuredOutputText: '' }, { responseFormat: { type: 'json' } }))).toEqual(
    [],
  )
  expect(textOf(await partsOf(result))).toEqual(['A draft: {"a":', '{"a":1}'])
})

test('rethrows errors of the call', async () => {
  const { model } = wholeModel({})
  const error = new Error('overloaded')
  model.doGenerate = () => Promise.reject(error)
  await expect(generateAsStream(model, { prompt })).rejects.toBe(error)
})

test.each([
  ['undefined', undefined],
  ['without content', { ...end }],
  ['with null as content', { ...end, content: [null] }],
])('rejects a result %s with a retryable error', async (_, result) => {
  const failed = partsOf(result as unknown as object).catch((error: unknown) => error)
  const error = await failed
  expect(MillraceError.isInstance(error)).toBe(true)
  expect(error).toMatchObject({ code: 'provider_error', retryable: true })
})

test('adapts a v3 model and warns about unsupported options', async () => {
  const calls: LanguageModelV3CallOptions[] = []
  // Its methods need the model as `this`.
  class Old implements LanguageModelV3 {
    readonly specificationVersion = 'v3'
    readonly provider = 'maker'
    readonly modelId = 'old'
    readonly supportedUrls = {}
    readonly #file = new Uint8Array([1, 2, 3])
    async doGenerate(options: LanguageModelV3CallOptions) {
      calls.push(options)
      return {
        content: [
          { type: 'text' as const, text: 'Here.' },
          { type: 'file' as const, mediaType: 'image/png', data: this.#file },
        ],
        usage,
        finishReason: { unified: 'stop' as const, raw: undefined },
        warnings: [{ type: 'unsupported' as const, feature: 'seed' }],
      }
    }
    async doStream(): Promise<never> {
      throw new Error('it was not to stream')
    }
  }
  const data = { type: 'url', url: new URL('https://example.org/a.png') } as const
  const { stream } = await generateAsStream(new Old(), {
    prompt: [{ role: 'user', content: [{ type: 'file', mediaType: 'image/png', data }] }],
    reasoning: 'high',
  })
  const { answer, chunks } = await readAnswer(await read(stream))
  expect(answer.text).toBe('Here.')
  expect(answer.isComplete).toBe(true)
  expect(answer.warnings).toEqual([
    { type: 'unsupported', feature: 'reasoning' },
    { type: 'unsupported', feature: 'seed' },
  ])
  expect(chunks).toContainEqual({ type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,AQID' })
  expect(calls[0]?.prompt[0]?.content).toEqual([{ type: 'file', mediaType: 'image/png', data: data.url }])
})

test('gives the same answer as streaming, with the packages of providers', async () => {
  const wholes = [
    {
      provider: anthropicProvider,
      stream: anthropic(
        [{ type: 'text', text: '' }, [{ type: 'text_delta', text: 'Let me see.' }]],
        [
          { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} },
          [{ type: 'input_json_delta', partial_json: '{"city":"Ulm"}' }],
        ],
      ),
      whole: {
        id: 'x',
        type: 'message',
        role: 'assistant',
        model: 'm',
        content: [
          { type: 'text', text: 'Let me see.' },
          { type: 'tool_use', id: 'toolu_1', name: 'look', input: { city: 'Ulm' } },
        ],
        stop_reason: 'tool_use',
        stop_sequence: null,
        usage: { input_tokens: 12, cache_read_input_tokens: 8, cache_creation_input_tokens: 0, output_tokens: 5 },
      },
    },
    {
      provider: openaiProvider,
      stream: openaiWire.text(['Let me', ' see.']),
      whole: {
        id: 'x',
        created: 1,
        model: 'm',
        choices: [{ index: 0, message: { role: 'assistant', content: 'Let me see.' }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 20, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 8 } },
      },
    },
  ]
  for (const { provider, stream, whole } of wholes) {
    const server = await rawServer({ body: stream }, { body: JSON.stringify(whole) })
    const model = provider.model(server.url)
    const streamed = await readAnswer(await read((await model.doStream({ prompt })).stream))
    const generated = await readAnswer(await read((await generateAsStream(model, { prompt })).stream))
    const summary = ({ answer }: typeof generated) => ({
      text: answer.text,
      usage: answer.usage,
      finishReason: answer.finishReason,
      warnings: answer.warnings,
      requestedCalls: answer.requestedCalls.map(({ toolCallId, input }) => ({ toolCallId, input })),
    })
    expect(summary(generated)).toEqual(summary(streamed))
    expect(generated.answer.text).toBe('Let me see.')
    expect(generated.chunks).toContainEqual({
      type: 'message-metadata',
      metadata: { response: expect.objectContaining({ id: 'x', modelId: 'm' }) },
    })
    expect(server.requests.map(({ body }) => body['stream'] ?? false)).toEqual([true, false])
    await server.close()
  }
})

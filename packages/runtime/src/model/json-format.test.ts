import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import type { LanguageModelV4, LanguageModelV4CallOptions, SharedV4Warning } from '@ai-sdk/provider'
import { describe, expect, test } from 'vitest'
import { anthropicProvider, openaiProvider } from '../test/providers/providers.fixture.ts'
import { anthropicWire, openaiWire, rawServer } from '../test/providers/raw-server.fixture.ts'
import { jsonFormatOf, learnFromWarnings } from './json-format.ts'

const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const request = { schema, name: 'draft' }
const refused: SharedV4Warning = { type: 'unsupported', feature: 'responseFormat' }
/** Calls with the format that is known so far, and returns these warnings. */
const ask = (model: object, ...warnings: readonly unknown[]) => {
  const format = jsonFormatOf(model, request)
  return { format, isNews: learnFromWarnings(model, warnings, format) }
}

test('sends the format and the instructions until the model has answered without a warning', () => {
  const model = {}
  const format = jsonFormatOf(model, request)
  expect(format.responseFormat).toEqual({ type: 'json', schema, name: 'draft' })
  expect(format.instructions).toMatch(/\bJSON\b.*"city"/s)
  expect(learnFromWarnings(model, [], format, false)).toBe(false)
  expect(jsonFormatOf(model, request)).toEqual(format)
  expect(learnFromWarnings(model, [], format)).toBe(false)
  expect(jsonFormatOf(model, request)).toEqual({ responseFormat: format.responseFormat })
})

test('sends no instructions if the model declares support for schemas', () => {
  expect(jsonFormatOf({ supportsStructuredOutputs: true }, request)).not.toHaveProperty('instructions')
})

test('learns from a later warning', () => {
  const model = {}
  expect([ask(model).isNews, ask(model, refused).isNews]).toEqual([false, true])
  expect(jsonFormatOf(model, request).responseFormat).toEqual({ type: 'json' })
})

test('sends the schema in the prompt and requests JSON if the model lacks schemas', () => {
  const model = {}
  expect(ask(model, refused).isNews).toBe(true)
  const { format, isNews } = ask(model)
  expect(format.responseFormat).toEqual({ type: 'json' })
  expect(format.instructions?.split('\n').at(-1)).toBe(JSON.stringify(schema))
  expect(isNews).toBe(false)
  expect(jsonFormatOf(model, request)).toEqual(format)
})

test('sends only instructions if the model lacks JSON', () => {
  const model = {}
  expect([ask(model, refused).isNews, ask(model, refused).isNews]).toEqual([true, true])
  const { format, isNews } = ask(model, refused)
  expect(format).toEqual({ instructions: expect.stringContaining('"city"') })
  expect(isNews).toBe(false)
})

test('keeps the result of concurrent calls', () => {
  const model = {}
  const first = jsonFormatOf(model, request)
  expect(learnFromWarnings(model, [refused], first)).toBe(true)
  expect(learnFromWarnings(model, [refused], first)).toBe(false)
  const second = jsonFormatOf(model, request)
  expect(second.responseFormat).toEqual({ type: 'json' })
  expect(learnFromWarnings(model, [refused], second)).toBe(true)
  expect(learnFromWarnings(model, [refused], first)).toBe(false)
  expect(jsonFormatOf(model, request)).not.toHaveProperty('responseFormat')
})

test('remembers support per model', () => {
  const model = {}
  ask(model, refused)
  expect(jsonFormatOf({}, request).responseFormat).toHaveProperty('schema')
})

describe('warnings', () => {
  test.each<[boolean, unknown]>([
    [true, { type: 'unsupported', feature: 'responseFormat', details: 'JSON response format is not supported.' }],
    [true, { type: 'unsupported', feature: 'responseFormat JSON schema' }],
    [true, { type: 'unsupported', feature: 'response_format' }],
    [true, { type: 'unsupported-setting', setting: 'responseFormat', details: 'only with structuredOutputs' }],
    // The provider has added the schema to the prompt.
    [false, { type: 'compatibility', feature: 'responseFormat JSON schema' }],
    [false, { type: 'unsupported', feature: 'seed' }],
    [false, { type: 'unsupported', feature: 'tool responseFormats' }],
    [false, { type: 'unsupported-setting', setting: 'topK' }],
    [false, { type: 'other', message: 'responseFormat' }],
    [false, { type: 'unsupported' }],
    [false, null],
    [false, 'responseFormat'],
  ])('counts as a missing feature: %s for the warning %j', (isLacking, warning) => {
    expect(ask({}, { type: 'other', message: 'Mind.' }, warning).isNews).toBe(isLacking)
  })

  test('ignores a warning if no format was requested', () => {
    expect(learnFromWarnings({}, [refused], {})).toBe(false)
  })
})

test('converts the name to what every provider accepts', () => {
  const nameOf = (name: string) => jsonFormatOf({}, { schema, name }).responseFormat
  expect(nameOf('email draft.v2/ü')).toMatchObject({ name: 'email_draft_v2__' })
  expect(nameOf('a'.repeat(99))).toMatchObject({ name: 'a'.repeat(64) })
  expect(nameOf('')).toMatchObject({ name: 'response' })
})

describe('provider packages', () => {
  const prompt: LanguageModelV4CallOptions['prompt'] = [{ role: 'user', content: [{ type: 'text', text: 'Where?' }] }]
  /** Calls a model several times. Returns the requests, and whether each call changed the knowledge about the model. */
  const callModel = async (count: number, body: string, modelOf: (url: string) => LanguageModelV4) => {
    const server = await rawServer({ body })
    const model = modelOf(server.url)
    const isNewFormat: boolean[] = []
    for (let call = 0; call < count; call++) {
      const format = jsonFormatOf(model, request)
      const { instructions, ...options } = format
      const { stream } = await model.doStream({
        prompt: instructions === undefined ? prompt : [{ role: 'system', content: instructions }, ...prompt],
        ...options,
      })
      const { value } = await stream.getReader().read()
      isNewFormat.push(learnFromWarnings(model, value?.type === 'stream-start' ? value.warnings : [], format))
    }
    await server.close()
    return { isNewFormat, bodies: server.requests.map(({ body }) => body) }
  }
  const maker = (url: string) => createOpenAICompatible({ name: 'maker', baseURL: url, apiKey: 'sk-key-of-a-test' })

  test.each([
    [anthropicProvider, anthropicWire],
    [openaiProvider, openaiWire],
  ])('$name returns no warning for a schema', async (provider, wire) => {
    const { isNewFormat, bodies } = await callModel(2, wire.text(['{"city":"Ulm"}']), provider.model)
    expect(isNewFormat).toEqual([false, false])
    expect(JSON.stringify(bodies[1])).toContain('"city"')
  })

  test('@ai-sdk/openai-compatible without schemas declares it, so no call is lost', async () => {
    const { isNewFormat, bodies } = await callModel(1, openaiWire.text(['{}']), url => maker(url)('m'))
    expect(isNewFormat).toEqual([false])
    expect(bodies[0]).toMatchObject({
      response_format: { type: 'json_object' },
      messages: [{ role: 'system', content: expect.stringContaining('"city"') }, { role: 'user' }],
    })
  })

  test('@ai-sdk/openai-compatible behind another model reports it in a warning', async () => {
    const wrapped = (url: string): LanguageModelV4 => {
      const model = maker(url)('m')
      const { specificationVersion, provider, modelId, supportedUrls } = model
      const doStream = (options: LanguageModelV4CallOptions) => model.doStream(options)
      const doGenerate = (options: LanguageModelV4CallOptions) => model.doGenerate(options)
      return { specificationVersion, provider, modelId, supportedUrls, doStream, doGenerate }
    }
    const { isNewFormat, bodies } = await callModel(3, openaiWire.text(['{}']), wrapped)
    expect(isNewFormat).toEqual([true, false, false])
    expect(bodies.map(body => JSON.stringify(body).includes('city'))).toEqual([true, true, true])
    expect(bodies[2]).toMatchObject({ response_format: { type: 'json_object' } })
  })

  test('a text completion model has no JSON support', async () => {
    const text = `data: ${JSON.stringify({ id: 'x', created: 1, model: 'm', choices: [{ index: 0, text: '{}', finish_reason: 'stop' }] })}\n\ndata: [DONE]\n\n`
    const { isNewFormat, bodies } = await callModel(3, text, url => maker(url).completionModel('m'))
    expect(isNewFormat).toEqual([true, true, false])
    expect(bodies[2]?.['prompt']).toContain('"city"')
  })
})

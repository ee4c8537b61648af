import type { LanguageModelV4, LanguageModelV4CallOptions, SharedV4Warning } from '@ai-sdk/provider'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { providerTool, tool } from '../define/tool.ts'
import type { ModelSettings } from './model.ts'
import { AgentHarness, chunksOf, finish, streamOf, textParts } from './model-run.fixture.ts'

/** Every setting, as it is given. */
const SETTINGS: { readonly [Name in keyof Required<ModelSettings>]: NonNullable<ModelSettings[Name]> } = {
  maxOutputTokens: 100,
  temperature: 0.5,
  stopSequences: ['END'],
  topP: 0.9,
  topK: 40,
  presencePenalty: 0.1,
  frequencyPenalty: 0.2,
  seed: 7,
  reasoning: 'high',
  toolChoice: { type: 'required' },
  headers: { 'x-tenant': 'a' },
  providerOptions: { maker: { cache: true } },
}

/** A model that honours nothing: it warns about each option that it is given, and keeps them. */
function stubborn() {
  const calls: LanguageModelV4CallOptions[] = []
  const model: LanguageModelV4 = {
    specificationVersion: 'v4',
    provider: 'test',
    modelId: 'stubborn',
    supportedUrls: {},
    async doGenerate() {
      throw new Error('not used')
    },
    async doStream(options) {
      calls.push(options)
      const warnings = Object.keys(SETTINGS)
        .filter(name => name in options)
        .map((feature): SharedV4Warning => ({ type: 'unsupported', feature, details: 'never' }))
      return { stream: streamOf([{ type: 'stream-start', warnings }, ...textParts('So.'), finish()]) }
    },
  }
  return { model, calls }
}

for (const name of Object.keys(SETTINGS) as (keyof ModelSettings)[]) {
  test(`passes ${name} to the model, and logs its warning if it is not supported`, async () => {
    const { model, calls } = stubborn()
    const harness = new AgentHarness(model, { settings: { [name]: SETTINGS[name] } })
    const { result, entries } = await harness.run()
    expect(result.status).toBe('completed')
    expect(calls[0]?.[name]).toMatchObject(SETTINGS[name] as object)
    const passedSettings = Object.keys(SETTINGS).filter(each => each in (calls[0] ?? {}))
    // The runtime adds its own provider options.
    expect(new Set(passedSettings)).toEqual(new Set([name, 'providerOptions']))
    expect(chunksOf(entries, 'step-finish')[0]?.warnings).toContainEqual({
      type: 'unsupported',
      feature: name,
      details: 'never',
    })
    await harness.close()
  })
}

test('logs no warning if everything is supported', async () => {
  const { model } = stubborn()
  const harness = new AgentHarness({
    ...model,
    doStream: async () => ({ stream: streamOf([...textParts('So.'), finish()]) }),
  })
  const { entries } = await harness.run()
  expect(chunksOf(entries, 'step-finish')).toEqual([{ type: 'step-finish', finishReason: 'stop' }])
  await harness.close()
})

test('passes the tools, the output, the key and the signal', async () => {
  const { model, calls } = stubborn()
  const look = tool({
    name: 'look',
    description: 'Looks',
    inputSchema: z.object({ city: z.string() }),
    strict: true,
    providerOptions: { maker: { cache: true } },
    execute: () => null,
  })
  const search = providerTool({ name: 'search', id: 'maker.search', args: { max: 3 } })
  const harness = new AgentHarness(model, {
    tools: [look, search],
    outputSchema: z.object({ a: z.string() }),
    maxRetries: 0,
  })
  const run = await harness.start()
  await run.result()
  expect(calls).toHaveLength(1)
  expect(calls[0]).toMatchObject({
    tools: [
      {
        type: 'function',
        name: 'look',
        description: 'Looks',
        strict: true,
        inputSchema: { type: 'object', properties: { city: { type: 'string' } } },
        providerOptions: { maker: { cache: true } },
      },
      { type: 'provider', id: 'maker.search', name: 'search', args: { max: 3 } },
    ],
    responseFormat: { type: 'json', name: 'helper', schema: { type: 'object' } },
    providerOptions: { millrace: { key: `${run.sessionId}/${run.runId}/${run.runId}/1`, attempt: 1 } },
  })
  expect(calls[0]?.abortSignal).toBeInstanceOf(AbortSignal)
  await harness.close()
})

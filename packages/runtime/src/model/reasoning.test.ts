import type { LanguageModelV4CallOptions, SharedV4ProviderOptions } from '@ai-sdk/provider'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { ValidationError } from '../error/error.ts'
import { anthropicProvider, openaiProvider } from '../test/providers/providers.fixture.ts'
import { anthropic, openaiWire, rawServer } from '../test/providers/raw-server.fixture.ts'
import { EFFORTS, type Reasoning, reasoningOf } from './reasoning.ts'

const modelOf = (provider: string, modelId = 'm') => ({ provider, modelId })
const features = (provider: string, reasoning: Reasoning) =>
  reasoningOf(modelOf(provider), reasoning).warnings.map(warning => (warning as { feature: string }).feature)

describe('the effort', () => {
  test('passes the effort as a standard option', () => {
    for (const effort of EFFORTS) {
      expect(reasoningOf(modelOf('maker.chat'), { effort })).toEqual({ settings: { reasoning: effort }, warnings: [] })
    }
    expectTypeOf(EFFORTS).toEqualTypeOf<readonly NonNullable<LanguageModelV4CallOptions['reasoning']>[]>()
  })

  test('drops an unknown effort with a warning', () => {
    expect(reasoningOf(modelOf('maker.chat'), { effort: 'heroic' })).toEqual({
      settings: {},
      warnings: [
        {
          type: 'unsupported',
          feature: 'reasoning.effort',
          details: '"heroic": expected one of provider-default, none, minimal, low, medium, high, xhigh, max',
        },
      ],
    })
    expect(features('maker.chat', { effort: 'constructor' })).toEqual(['reasoning.effort'])
  })
})

describe('token budget and visible thoughts, in the options of each provider', () => {
  const both = { maxTokens: 2048, includeThoughts: true }
  test.each<[string, Reasoning, SharedV4ProviderOptions]>([
    ['anthropic.messages', both, { anthropic: { thinking: { type: 'enabled', budgetTokens: 2048 } } }],
    ['googleVertex.anthropic.messages', both, { anthropic: { thinking: { type: 'enabled', budgetTokens: 2048 } } }],
    ['bedrock.anthropic.messages', both, { anthropic: { thinking: { type: 'enabled', budgetTokens: 2048 } } }],
    ['google.generative-ai', both, { google: { thinkingConfig: { thinkingBudget: 2048, includeThoughts: true } } }],
    ['google.vertex.chat', { includeThoughts: false }, { google: { thinkingConfig: { includeThoughts: false } } }],
    ['openai.responses', { includeThoughts: true }, { openai: { reasoningSummary: 'auto' } }],
    ['openai.responses', { includeThoughts: false }, { openai: { reasoningSummary: null } }],
    ['azure.responses', { includeThoughts: true }, { openai: { reasoningSummary: 'auto' } }],
    ['xai.responses', { includeThoughts: true }, { xai: { reasoningSummary: 'auto' } }],
    ['amazon-bedrock', { maxTokens: 2048 }, { bedrock: { reasoningConfig: { type: 'enabled', budgetTokens: 2048 } } }],
    ['cohere.chat', { maxTokens: 2048 }, { cohere: { thinking: { type: 'enabled', tokenBudget: 2048 } } }],
    ['alibaba.chat', both, { alibaba: { enableThinking: true, thinkingBudget: 2048 } }],
    ['groq.chat', { includeThoughts: true }, { groq: { reasoningFormat: 'parsed' } }],
    ['groq.chat', { includeThoughts: false }, { groq: { reasoningFormat: 'hidden' } }],
  ])('sends the options of %s for %j', (provider, reasoning, providerOptions) => {
    expect(reasoningOf(modelOf(provider), reasoning)).toEqual({ settings: { providerOptions }, warnings: [] })
  })

  test('passes the options of the provider behind a gateway', () => {
    const { settings, warnings } = reasoningOf(modelOf('gateway', 'google/gemini-3-pro'), both)
    expect(settings).toEqual({
      providerOptions: { google: { thinkingConfig: { thinkingBudget: 2048, includeThoughts: true } } },
    })
    expect(warnings).toEqual([])
    const unknown = reasoningOf(modelOf('gateway', 'maker/m'), both)
    expect(unknown.settings).toEqual({})
    expect(unknown.warnings).toHaveLength(2)
  })

  test('warns about options that a provider does not support', () => {
    expect(reasoningOf(modelOf('maker.chat'), both)).toEqual({
      settings: {},
      warnings: [
        {
          type: 'unsupported',
          feature: 'reasoning.maxTokens',
          details: 'maker.chat does not support a token budget',
        },
        {
          type: 'unsupported',
          feature: 'reasoning.includeThoughts',
          details: 'maker.chat does not support showing thoughts',
        },
      ],
    })
    expect(features('openai.chat', both)).toEqual(['reasoning.maxTokens', 'reasoning.includeThoughts'])
    expect(features('openai.responses', both)).toEqual(['reasoning.maxTokens'])
    expect(features('xai.responses', { includeThoughts: false })).toEqual(['reasoning.includeThoughts'])
    expect(features('amazon-bedrock', both)).toEqual(['reasoning.includeThoughts'])
    expect(features('groq.chat', { maxTokens: 1 })).toEqual(['reasoning.maxTokens'])
  })

  test('sends effort and token budget to providers that accept both', () => {
    const reasoning = { effort: 'low', maxTokens: 2048 }
    expect(reasoningOf(modelOf('anthropic.messages'), reasoning)).toMatchObject({
      settings: { reasoning: 'low', providerOptions: { anthropic: {} } },
      warnings: [],
    })
    // Google rejects a call with both a level and a budget.
    expect(reasoningOf(modelOf('google.generative-ai'), reasoning)).toEqual({
      settings: { providerOptions: { google: { thinkingConfig: { thinkingBudget: 2048 } } } },
      warnings: [expect.objectContaining({ feature: 'reasoning.effort' })],
    })
    expect(reasoningOf(modelOf('openai.responses'), reasoning)).toEqual({
      settings: { reasoning: 'low' },
      warnings: [expect.objectContaining({ feature: 'reasoning.maxTokens' })],
    })
  })

  test('warns if the provider cannot show or hide thoughts as requested', () => {
    const shown = (reasoning: Reasoning) => features('anthropic.messages', reasoning)
    expect(shown({ includeThoughts: true, effort: 'high' })).toEqual([])
    expect(shown({ includeThoughts: true, maxTokens: 2048 })).toEqual([])
    expect(shown({ includeThoughts: true })).toEqual(['reasoning.includeThoughts'])
    expect(shown({ includeThoughts: true, effort: 'none' })).toEqual(['reasoning.includeThoughts'])
    expect(shown({ includeThoughts: false, effort: 'high' })).toEqual(['reasoning.includeThoughts'])
    expect(shown({ includeThoughts: false })).toEqual([])
  })
})

describe('with existing provider options', () => {
  const reasoning = { maxTokens: 2048, includeThoughts: true }
  test('keeps existing values and adds the missing ones', () => {
    const existing = { google: { thinkingConfig: { includeThoughts: false }, labels: { a: 'b' } }, other: { c: 1 } }
    const before = structuredClone(existing)
    const { settings } = reasoningOf(modelOf('google.generative-ai'), reasoning, existing)
    expect(settings.providerOptions).toEqual({
      google: { thinkingConfig: { thinkingBudget: 2048, includeThoughts: false }, labels: { a: 'b' } },
      other: { c: 1 },
    })
    expect(existing).toEqual(before)
  })

  test('adds to the provider key that the existing options use', () => {
    const keysOf = (provider: string, existing: SharedV4ProviderOptions) =>
      Object.entries(reasoningOf(modelOf(provider), reasoning, existing).settings.providerOptions ?? {})
        .filter(([, options]) => 'thinkingConfig' in options || 'reasoningSummary' in options)
        .map(([key]) => key)
    expect(keysOf('google.vertex.chat', { googleVertex: { labels: {} } })).toEqual(['googleVertex'])
    expect(keysOf('google.vertex.chat', { vertex: {} })).toEqual(['vertex'])
    expect(keysOf('google.vertex.chat', {})).toEqual(['google'])
    expect(keysOf('google.generative-ai', { googleVertex: {} })).toEqual(['google'])
    expect(keysOf('azure.responses', { azure: { store: false } })).toEqual(['azure'])
    expect(keysOf('openai.responses', { azure: {} })).toEqual(['openai'])
  })

  test('leaves the existing options unchanged if there is nothing to add', () => {
    const existing = { maker: { a: 1 } }
    expect(reasoningOf(modelOf('maker.chat'), { effort: 'low' }, existing).settings).toEqual({
      reasoning: 'low',
      providerOptions: existing,
    })
    expect(reasoningOf(modelOf('openai.responses'), {}, existing).settings).toEqual({ providerOptions: existing })
    expect(reasoningOf(modelOf('openai.responses'), {})).toEqual({ settings: {}, warnings: [] })
  })
})

test.each<[object, string]>([
  [{ effort: 5 }, 'reasoning.effort: expected a string, found a number'],
  [{ maxTokens: 0 }, 'reasoning.maxTokens: expected an integer of at least 1, found 0'],
  [{ maxTokens: 1.5 }, 'reasoning.maxTokens: expected an integer of at least 1, found 1.5'],
  [{ maxTokens: '5' }, 'reasoning.maxTokens: expected an integer of at least 1, found a string'],
  [{ includeThoughts: 'yes' }, 'reasoning.includeThoughts: expected true or false, found a string'],
])('rejects reasoning %j', (reasoning, problem) => {
  expect(() => reasoningOf(modelOf('maker.chat'), reasoning as Reasoning)).toThrow(new ValidationError(problem))
})

describe('the provider packages', () => {
  const prompt: LanguageModelV4CallOptions['prompt'] = [{ role: 'user', content: [{ type: 'text', text: 'Hello?' }] }]
  const ask = async (provider: typeof anthropicProvider, body: string, reasoning: Reasoning) => {
    const server = await rawServer({ body })
    const model = provider.model(server.url)
    const { settings, warnings } = reasoningOf(model, reasoning)
    const { stream } = await model.doStream({ prompt, ...settings })
    const first = await stream.getReader().read()
    await server.close()
    return {
      body: server.requests[0]?.body,
      warnings,
      streamWarnings: first.value?.type === 'stream-start' && first.value.warnings,
    }
  }
  const reply = anthropic([{ type: 'text', text: '' }, [{ type: 'text_delta', text: 'Hi.' }]])

  test('@ai-sdk/anthropic accepts budget and effort', async () => {
    const budget = await ask(anthropicProvider, reply, { maxTokens: 2048, includeThoughts: true })
    expect(budget.body).toMatchObject({ thinking: { type: 'enabled', budget_tokens: 2048 } })
    expect([budget.warnings, budget.streamWarnings]).toEqual([[], []])
    const effort = await ask(anthropicProvider, reply, { effort: 'low', includeThoughts: true })
    expect(effort.body).toMatchObject({ thinking: { type: 'enabled', budget_tokens: expect.any(Number) } })
    expect([effort.warnings, effort.streamWarnings]).toEqual([[], []])
  })

  test('@ai-sdk/openai-compatible accepts only the effort, with warnings for the rest', async () => {
    const { body, warnings } = await ask(openaiProvider, openaiWire.text(['Hi.']), { effort: 'high', maxTokens: 5 })
    expect(body).toMatchObject({ reasoning_effort: 'high' })
    expect(warnings).toMatchObject([{ type: 'unsupported', feature: 'reasoning.maxTokens' }])
  })
})

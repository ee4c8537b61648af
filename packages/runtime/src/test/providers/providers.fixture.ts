import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import type { LanguageModelV4 } from '@ai-sdk/provider'
import { anthropicWire, openaiWire, type Wire } from './raw-server.fixture.ts'

/** A provider's package, pointed at a server. */
export interface Provider {
  readonly name: string
  readonly wire: Wire
  readonly model: (url: string) => LanguageModelV4
}

const KEY = 'sk-key-of-a-test'

export const anthropicProvider: Provider = {
  name: '@ai-sdk/anthropic',
  wire: anthropicWire,
  model: baseURL => createAnthropic({ baseURL, apiKey: KEY })('claude-sonnet-4-5'),
}

export const openaiProvider: Provider = {
  name: '@ai-sdk/openai-compatible',
  wire: openaiWire,
  model: baseURL =>
    createOpenAICompatible({
      name: 'maker',
      baseURL,
      apiKey: KEY,
      includeUsage: true,
      supportsStructuredOutputs: true,
    })('gpt-test'),
}

export const PROVIDERS = [openaiProvider, anthropicProvider]

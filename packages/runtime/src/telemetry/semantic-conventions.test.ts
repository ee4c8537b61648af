import { expect, test } from 'vitest'
import { histogram, providerName } from './semantic-conventions.ts'

test.each([
  ['openai.chat', 'openai'],
  ['openai.responses', 'openai'],
  ['anthropic.messages', 'anthropic'],
  ['google.generative-ai', 'gcp.gemini'],
  ['google.vertex.chat', 'gcp.vertex_ai'],
  ['vertex.anthropic.messages', 'gcp.vertex_ai'],
  ['azure.responses', 'azure.ai.openai'],
  ['amazon-bedrock', 'aws.bedrock'],
  ['mistral.chat', 'mistral_ai'],
  ['xai.chat', 'x_ai'],
  ['groq.chat', 'groq'],
  // The conventions have no name for it.
  ['moonshotai.chat', 'moonshotai.chat'],
  ['openai-compatible.chat', 'openai-compatible.chat'],
  ['millrace', 'millrace'],
])('converts the provider %s to the name %s', (provider, name) => expect(providerName(provider)).toBe(name))

test('uses the recommended buckets for tokens', () => {
  expect(histogram.tokens[2]).toEqual([
    1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864,
  ])
})

import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { expect, test } from 'vitest'
import { collectStream, generateAsStream } from './generate-result.ts'

const streamOf = (parts: readonly LanguageModelV4StreamPart[]): ReadableStream<LanguageModelV4StreamPart> =>
  new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part)
      controller.close()
    },
  })

const parts: LanguageModelV4StreamPart[] = [
  { type: 'stream-start', warnings: [{ type: 'other', message: 'Mind.' }] },
  { type: 'response-metadata', id: 'r', modelId: 'm', timestamp: new Date(5) },
  { type: 'reasoning-start', id: '0' },
  { type: 'reasoning-delta', id: '0', delta: 'I think.' },
  { type: 'reasoning-end', id: '0', providerMetadata: { maker: { signature: 's' } } },
  { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AQID' } },
  { type: 'text-start', id: '2' },
  { type: 'text-delta', id: '2', delta: 'So.' },
  { type: 'text-end', id: '2' },
  { type: 'tool-call', toolCallId: 'c', toolName: 'look', input: '{}' },
  { type: 'tool-result', toolCallId: 'c', toolName: 'look', result: 1 },
  {
    type: 'finish',
    finishReason: { unified: 'stop', raw: 'end' },
    usage: {
      inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 2, text: 1, reasoning: 1 },
    },
    providerMetadata: { maker: { tier: 'a' } },
  },
]

test('restores the result that was converted to a stream', async () => {
  const doGenerate = () => collectStream(streamOf(parts))
  const { stream } = await generateAsStream({ specificationVersion: 'v4', doGenerate } as unknown as LanguageModelV4, {
    prompt: [],
  })
  const again: LanguageModelV4StreamPart[] = []
  const reader = stream.getReader()
  for (let next = await reader.read(); !next.done; next = await reader.read()) again.push(next.value)
  expect(again).toEqual(parts)
})

test('rejects a stream without an end (law 7)', async () => {
  await expect(collectStream(streamOf(parts.slice(0, -1)))).rejects.toThrow('the stream ended without a finish part')
})

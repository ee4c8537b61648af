import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3StreamPart,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { tool } from '../define/tool.ts'
import { asV4 } from './model.ts'
import { AgentHarness, chunksOf, partsModel, streamOf } from './model-run.fixture.ts'

const usage = {
  inputTokens: { total: 9, noCache: 5, cacheRead: 4, cacheWrite: 0 },
  outputTokens: { total: 3, text: 3, reasoning: 0 },
}
const end = (unified: 'stop' | 'tool-calls' = 'stop'): LanguageModelV3StreamPart => ({
  type: 'finish',
  usage,
  finishReason: { unified, raw: undefined },
})

function oldModel(...answers: readonly LanguageModelV3StreamPart[][]) {
  const calls: LanguageModelV3CallOptions[] = []
  const model: LanguageModelV3 = {
    specificationVersion: 'v3',
    provider: 'maker',
    modelId: 'old',
    supportedUrls: { 'image/*': [/^https:/] },
    async doGenerate() {
      throw new Error('not used')
    },
    async doStream(options) {
      return { stream: streamOf(answers[calls.push(options) - 1] ?? []) }
    },
  }
  return { model, calls }
}

async function streamParts(model: LanguageModelV3, options: Partial<LanguageModelV4CallOptions>) {
  const { stream } = await asV4(model).doStream({ prompt: [], ...options })
  const parts: LanguageModelV4StreamPart[] = []
  const reader = stream.getReader()
  for (let next = await reader.read(); !next.done; next = await reader.read()) parts.push(next.value)
  return parts
}

test('runs a v3 model: text, calls, files, usage', async () => {
  const { model, calls } = oldModel(
    [
      { type: 'stream-start', warnings: [{ type: 'unsupported', feature: 'seed' }] },
      { type: 'text-delta', id: '0', delta: 'Let me see.' },
      { type: 'file', mediaType: 'image/png', data: new Uint8Array([1, 2, 3]) },
      { type: 'tool-call', toolCallId: 'c', toolName: 'look', input: '{"city":"Ulm"}' },
      end('tool-calls'),
    ],
    [{ type: 'text-delta', id: '0', delta: 'It is warm.' }, end()],
  )
  const look = tool({ name: 'look', inputSchema: z.object({ city: z.string() }), execute: () => ({ celsius: 21 }) })
  const harness = new AgentHarness(model, { tools: [look] })
  const { result, entries } = await harness.run('How warm is it?')
  expect(result).toMatchObject({ status: 'completed', text: 'Let me see.It is warm.' })
  expect(result.usage).toMatchObject({ inputTokens: 18, cachedTokens: 8, outputTokens: 6 })
  expect(entries.find(({ chunk }) => chunk.type === 'text-delta')?.origin).toMatchObject({ model: 'maker:old' })
  expect(chunksOf(entries, 'file')).toMatchObject([{ url: 'data:image/png;base64,AQID' }])
  expect(chunksOf(entries, 'step-finish')[0]?.warnings).toEqual([{ type: 'unsupported', feature: 'seed' }])
  expect(calls[1]?.prompt.slice(1)).toMatchObject([
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'Let me see.' },
        { type: 'file', mediaType: 'image/png', data: 'AQID' },
        { type: 'text' },
        { type: 'tool-call', toolCallId: 'c' },
      ],
    },
    { role: 'tool', content: [{ type: 'tool-result', toolCallId: 'c', output: { type: 'json' } }] },
  ])
  await harness.close()
})

test('converts all kinds of files', async () => {
  const { model, calls } = oldModel([end()])
  const url = new URL('https://example.org/a.png')
  const file = (data: object) => ({ type: 'file', mediaType: 'image/png', data }) as never
  const output = (...value: object[]) => ({
    type: 'tool-result' as const,
    toolCallId: 'c',
    toolName: 't',
    output: { type: 'content', value } as never,
  })
  const parts = await streamParts(model, {
    prompt: [
      { role: 'system', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          file({ type: 'url', url }),
          file({ type: 'data', data: 'AQID' }),
          file({ type: 'text', text: 'é' }),
          file({ type: 'reference', reference: { maker: 'f1' } }),
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'hm' },
          { type: 'custom', kind: 'maker.thing' },
          file({ type: 'data', data: new Uint8Array([1]) }),
          output(file({ type: 'text', text: 'words' })),
        ],
      },
      {
        role: 'tool',
        content: [
          output(
            file({ type: 'url', url }),
            file({ type: 'data', data: new Uint8Array([1, 2, 3]) }),
            file({ type: 'reference', reference: { maker: 'f1' } }),
            { type: 'text', text: 'a' },
          ),
        ],
      },
    ],
  })
  expect(calls[0]?.prompt).toEqual([
    { role: 'system', content: 'Be brief.' },
    {
      role: 'user',
      content: [
        { type: 'file', mediaType: 'image/png', data: url },
        { type: 'file', mediaType: 'image/png', data: 'AQID' },
        { type: 'file', mediaType: 'image/png', data: new TextEncoder().encode('é') },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'hm' },
        { type: 'file', mediaType: 'image/png', data: new Uint8Array([1]) },
        output({ type: 'text', text: 'words' }),
      ],
    },
    {
      role: 'tool',
      content: [
        output(
          { type: 'file-url', url: url.href },
          { type: 'file-data', mediaType: 'image/png', data: 'AQID' },
          { type: 'text', text: 'a' },
        ),
      ],
    },
  ])
  expect(parts[0]).toEqual({
    type: 'stream-start',
    warnings: ['files by reference', 'custom parts', 'files by reference'].map(feature => ({
      type: 'unsupported',
      feature,
    })),
  })
})

test('warns about unsupported options and drops them', async () => {
  const { model, calls } = oldModel([end()], [end()])
  expect(await streamParts(model, { reasoning: 'high', seed: 3 })).toMatchObject([
    { type: 'stream-start', warnings: [{ type: 'unsupported', feature: 'reasoning' }] },
    { type: 'finish' },
  ])
  expect(calls[0]).toEqual({ prompt: [], seed: 3 })
  expect(await streamParts(model, { reasoning: 'provider-default' })).toMatchObject([{ type: 'finish' }])
})

test('returns a v4 model unchanged', () => {
  const model = partsModel()
  expect(asV4(model)).toBe(model)
})

const OTHERS: readonly (readonly [string, unknown, RegExp])[] = [
  [
    'of version v2',
    { specificationVersion: 'v2', provider: 'maker', modelId: 'm', doStream() {} },
    /maker:m of version v2/,
  ],
  ['of a future version', { specificationVersion: 'v9', provider: 'maker', modelId: 'm', doStream() {} }, /version v9/],
  ['given by name', 'maker/model', /found a string/],
  ['without a version', { doStream() {} }, /without specificationVersion/],
  ['that cannot stream', { specificationVersion: 'v4', provider: 'a', modelId: 'b' }, /a:b of version v4/],
  ['that is undefined', undefined, /found undefined/],
  ['that is null', null, /found null/],
]
for (const [name, model, message] of OTHERS) {
  test(`rejects a model ${name}`, async () => {
    expect(() => asV4(model, 'agent x: model')).toThrow(message)
    expect(() => asV4(model, 'agent x: model')).toThrow(expect.objectContaining({ code: 'validation_failed' }))
    const harness = new AgentHarness(() => model as LanguageModelV3)
    const { result } = await harness.run()
    expect(result).toMatchObject({ status: 'failed', error: { code: 'validation_failed' } })
    await harness.close()
  })
}

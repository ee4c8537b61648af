// Providers that never stop sending.

import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../define/agent.ts'
import { providerTool, tool } from '../define/tool.ts'
import { reportsOf, runToEnd } from '../execute/agent/run-to-end.fixture.ts'
import { endlessModel } from './endless-model.fixture.ts'
import { chunksOf, finish, partsModel, streamOf, type TestAgentOptions, textParts } from './model-run.fixture.ts'

const search = providerTool({ name: 'search', id: 'maker.search' })
const look = tool({ name: 'look', inputSchema: z.object({}), execute: () => 1 })
const begun: LanguageModelV4StreamPart[] = [{ type: 'stream-start', warnings: [] }, ...textParts('It is warm.')]

const TEXT = 'x'.repeat(100)
const SEARCH_CALL = { type: 'tool-call', toolName: 'search', input: '{}', providerExecuted: true } as const

/** Parts that a provider can repeat without end. */
const PARTS: Record<string, (n: number) => unknown> = {
  text: () => ({ type: 'text-delta', id: '1', delta: TEXT }),
  'empty text': () => ({ type: 'text-delta', id: '1', delta: '' }),
  'text parts': n => ({ type: n % 2 ? 'text-end' : 'text-start', id: '1' }),
  reasoning: () => ({ type: 'reasoning-delta', id: '1', delta: TEXT }),
  'metadata of reasoning': () => ({
    type: 'reasoning-delta',
    id: '1',
    delta: '',
    providerMetadata: { m: { s: TEXT } },
  }),
  'tool input': n =>
    n === 0
      ? { type: 'tool-input-start', id: 'c', toolName: 'look' }
      : { type: 'tool-input-delta', id: 'c', delta: TEXT },
  'tool input without a call': () => ({ type: 'tool-input-delta', id: 'none', delta: '' }),
  'tool calls': n => ({ type: 'tool-call', toolCallId: `c${n}`, toolName: 'look', input: '{}' }),
  'calls of unknown tools': n => ({ type: 'tool-call', toolCallId: `c${n}`, toolName: 'none', input: TEXT }),
  sources: n => ({ type: 'source', sourceType: 'url', id: `s${n}`, url: 'https://example.com' }),
  'one source': () => ({ type: 'source', sourceType: 'url', id: 's', url: 'https://example.com' }),
  files: () => ({ type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'A'.repeat(1000) } }),
  'files in bytes': () => ({ type: 'file', mediaType: 'image/png', data: { type: 'data', data: new Uint8Array(999) } }),
  'results of a provider tool': n =>
    n % 2
      ? { type: 'tool-result', toolCallId: `p${n - 1}`, toolName: 'search', result: { TEXT } }
      : { ...SEARCH_CALL, toolCallId: `p${n}` },
  'preliminary results': n =>
    n === 0
      ? { ...SEARCH_CALL, toolCallId: 'p' }
      : { type: 'tool-result', toolCallId: 'p', toolName: 'search', result: { n }, preliminary: true },
  'results without a call': () => ({ type: 'tool-result', toolCallId: 'none', toolName: 'search', result: 1 }),
  'content of its own': () => ({ type: 'custom', kind: 'maker.thing', providerMetadata: { maker: { TEXT } } }),
  'response metadata': n => ({ type: 'response-metadata', id: `r${n}` }),
  warnings: n => ({ type: 'stream-start', warnings: [{ type: 'other', message: `${n}` }] }),
  'raw values': () => ({ type: 'raw', rawValue: { TEXT } }),
  pings: () => ({ type: 'ping' }),
  'unknown parts': () => ({ type: 'unknown-part' }),
}

const run = (model: LanguageModelV4, options: TestAgentOptions) =>
  runToEnd(agent({ name: 'helper', model, tools: [look, search], ...options } as Parameters<typeof agent>[0]))

describe('an answer without end is cut off at its limit of bytes, and its text is kept', () => {
  for (const [name, next] of Object.entries(PARTS)) {
    test(name, async () => {
      const { model, ends, signals, sent } = endlessModel(begun, n => next(n) as LanguageModelV4StreamPart)
      const { result, view } = await run(model, { modelLimits: { answerBytes: 20_000 } })
      expect(result).toMatchObject({
        status: 'failed',
        error: { code: 'budget_answer', category: 'budget', retryable: false },
        reason: 'the model’s answer exceeded 20000 bytes: raise modelLimits.answerBytes',
      })
      expect(result.message?.parts[1]).toMatchObject({ type: 'text', text: 'It is warm.', state: 'done' })
      expect(view.drafts).toEqual([])
      expect(ends).toHaveLength(1)
      expect(signals.map(({ aborted }) => aborted)).toEqual([true])
      expect(sent()).toBeLessThan(400)
    })
  }
})

test('an answer is cut off in the middle of a text, a call and a result, which stay as they are', async () => {
  const parts: LanguageModelV4StreamPart[] = [
    ...begun,
    { ...SEARCH_CALL, toolCallId: 'p' },
    { type: 'tool-result', toolCallId: 'p', toolName: 'search', result: { found: 3 } },
    { type: 'tool-call', toolCallId: 'a', toolName: 'look', input: '{}' },
    { type: 'tool-input-start', id: 'b', toolName: 'look' },
    { type: 'tool-input-delta', id: 'b', delta: '{"ci' },
    { type: 'text-start', id: '2' },
  ]
  const { model } = endlessModel(parts, () => ({ type: 'text-delta', id: '2', delta: 'so ' }))
  const { result, view, log } = await run(model, { modelLimits: { answerBytes: 5000 } })
  expect(result.message?.parts).toMatchObject([
    { type: 'step-start' },
    { type: 'text', text: 'It is warm.', state: 'done' },
    { toolCallId: 'p', state: 'output-available', output: { found: 3 } },
    { toolCallId: 'a', state: 'output-error', code: 'interrupted' },
    { toolCallId: 'b', state: 'output-error', code: 'interrupted' },
    { type: 'text', text: expect.stringMatching(/^(so )+$/), state: 'done' },
  ])
  expect(view.pendings ?? []).toEqual([])
  expect(chunksOf(log, 'step-discarded')).toEqual([])
})

test('an answer is cut off at its limit of tokens, estimated from its text, reasoning and tool input', async () => {
  const deltas = ['text-delta', 'reasoning-delta'] as const
  const { model } = endlessModel(begun, n => ({ type: deltas[n % 2] as 'text-delta', id: '1', delta: 'four' }))
  const { result } = await run(model, { modelLimits: { answerTokens: 50 } })
  expect(result).toMatchObject({
    status: 'failed',
    error: { code: 'budget_answer' },
    reason: 'the model’s answer exceeded 50 tokens, by an estimate: raise modelLimits.answerTokens',
  })
  // The provider charges for them. 11 characters were in the first text.
  expect(result.usage).toMatchObject({ outputTokens: 51 })
})

test('a run is cut off at its limit of tokens while an answer streams', async () => {
  const { model } = endlessModel(begun, () => ({ type: 'text-delta', id: '1', delta: 'four' }))
  let calls = 0
  const first = [
    { type: 'tool-call', toolCallId: 'a', toolName: 'look', input: '{}' } as const,
    finish('tool-calls', [60, 10]),
  ]
  const both: LanguageModelV4 = {
    ...model,
    doStream: async options => (calls++ === 0 ? { stream: streamOf(first) } : model.doStream(options)),
  }
  const { result } = await run(both, { budget: { tokens: 100 } })
  expect(result).toMatchObject({ status: 'failed', error: { code: 'budget_tokens' } })
  expect(result.reason).toBe(
    'the run has used more than 100 tokens, by an estimate of the answer that streamed: raise budget.tokens',
  )
  expect(result.usage).toMatchObject({ inputTokens: 60, outputTokens: 10 + 31 })
})

test('a run is cut off at its limit of bytes, which counts all its answers', async () => {
  const text = textParts('x'.repeat(400))
  let calls = 0
  const model: LanguageModelV4 = {
    ...partsModel(),
    async doStream() {
      const call = { type: 'tool-call', toolCallId: `c${++calls}`, toolName: 'look', input: '{}' } as const
      return { stream: streamOf([...text, call, finish('tool-calls')]) }
    },
  }
  const { result } = await run(model, { budget: { bytes: 2000 } })
  expect(result).toMatchObject({ status: 'failed', error: { code: 'budget_bytes' } })
  expect(result.reason).toBe('the run has streamed more than 2000 bytes: raise budget.bytes')
  expect(calls).toBeGreaterThan(2)
  expect(calls).toBeLessThan(6)
})

test('a complete answer with more tokens than its limit is kept, as the provider reports them', async () => {
  const model = partsModel([...begun, finish('stop', [10, 1000])])
  const { result } = await run(model, { modelLimits: { answerTokens: 50 } })
  expect(result).toMatchObject({ status: 'completed', text: 'It is warm.', usage: { outputTokens: 1000 } })
})

test('reports the error of the provider, whatever parts follow it', async () => {
  const overloaded = { type: 'error', error: { type: 'overloaded_error' } } as const
  const { model } = endlessModel([...begun, overloaded], () => ({ type: 'ping' }))
  const { result } = await run(model, { modelLimits: { answerBytes: 5000 }, maxRetries: 0 })
  expect(result).toMatchObject({ status: 'failed', error: { code: 'provider_overloaded' } })
})

test('an object without end stays unfinished, with the fields that were streamed', async () => {
  const outputSchema = z.object({ text: z.string() })
  const { model } = endlessModel([{ type: 'text-delta', id: '0', delta: '{"text":"' }], () => ({
    type: 'text-delta',
    id: '0',
    delta: 'so ',
  }))
  const { result, view, log } = await run(model, { outputSchema, modelLimits: { answerBytes: 5000 } })
  expect(result).toMatchObject({ status: 'failed', error: { code: 'budget_answer' } })
  expect(view.structured).toMatchObject([{ status: 'streaming', data: { text: expect.stringContaining('so so') } }])
  expect(reportsOf(log)).toEqual([])
})

test('a sub-agent that is cut off fails its call, keeps its text, and its caller continues', async () => {
  const { model } = endlessModel(begun, () => ({ type: 'text-delta', id: '1', delta: 'so ' }))
  const sub = agent({ name: 'sub', model, modelLimits: { answerBytes: 5000 } })
  const call = { type: 'tool-call', toolCallId: 'c', toolName: 'sub', input: '{"prompt":"Go."}' } as const
  const caller = partsModel([call, finish('tool-calls')], [...textParts('Well.'), finish()])
  const { result, view } = await runToEnd(agent({ name: 'caller', model: caller, subAgents: [sub] }))
  expect(result).toMatchObject({ status: 'completed', text: 'Well.' })
  expect(result.message?.parts[1]).toMatchObject({
    state: 'output-error',
    code: 'subagent_failed',
    errorText: expect.stringContaining('exceeded 5000 bytes'),
  })
  const message = view.messages.find(({ parent }) => parent !== undefined)
  expect(message?.parts[1]).toMatchObject({ type: 'text', text: 'It is warm.', state: 'done' })
})

import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { tool } from '../define/tool.ts'
import { Clock, settled } from '../drive/clock.fixture.ts'
import { generateAsStream } from './generate-result.ts'
import { asV4 } from './model.ts'
import { readAnswer } from './model-answer.fixture.ts'
import { AgentHarness, finish } from './model-run.fixture.ts'
import { promptOf, syntheticMessage } from './prompt.ts'
import { type ScriptedAnswer, type ScriptedPrompt, scriptedModel } from './scripted-model.ts'

const user = (text: string): LanguageModelV4CallOptions['prompt'][number] => ({
  role: 'user',
  content: [{ type: 'text', text }],
})
const reply: LanguageModelV4CallOptions['prompt'][number] = {
  role: 'assistant',
  content: [{ type: 'text', text: 'a' }],
}

async function streamParts(model: LanguageModelV4, options: Partial<LanguageModelV4CallOptions> = {}) {
  const { stream } = await model.doStream({ prompt: [user('Hello?')], ...options })
  const parts: LanguageModelV4StreamPart[] = []
  const reader = stream.getReader()
  for (let next = await reader.read(); !next.done; next = await reader.read()) parts.push(next.value)
  return parts
}

test('streams reasoning, text and calls token by token', async () => {
  const model = scriptedModel([
    { reasoning: 'I think.', text: 'Let me  see.\n', calls: [{ name: 'look', input: { a: 'b c' } }] },
  ])
  expect(asV4(model)).toBe(model)
  expect(await streamParts(model)).toEqual([
    { type: 'stream-start', warnings: [] },
    { type: 'reasoning-start', id: 'reasoning' },
    { type: 'reasoning-delta', id: 'reasoning', delta: 'I' },
    { type: 'reasoning-delta', id: 'reasoning', delta: ' think.' },
    { type: 'reasoning-end', id: 'reasoning' },
    { type: 'text-start', id: 'text' },
    { type: 'text-delta', id: 'text', delta: 'Let' },
    { type: 'text-delta', id: 'text', delta: ' me' },
    { type: 'text-delta', id: 'text', delta: '  see.' },
    { type: 'text-delta', id: 'text', delta: '\n' },
    { type: 'text-end', id: 'text' },
    { type: 'tool-input-start', id: 'call-look-1', toolName: 'look' },
    { type: 'tool-input-delta', id: 'call-look-1', delta: '{"a":"b' },
    { type: 'tool-input-delta', id: 'call-look-1', delta: ' c"}' },
    { type: 'tool-input-end', id: 'call-look-1' },
    { type: 'tool-call', toolCallId: 'call-look-1', toolName: 'look', input: '{"a":"b c"}' },
    {
      type: 'finish',
      finishReason: { unified: 'tool-calls', raw: undefined },
      usage: {
        inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
        outputTokens: { total: 6, text: undefined, reasoning: undefined },
      },
    },
  ])
})

describe('a script that is an array', () => {
  const model = scriptedModel([{ text: 'One.' }, { text: 'Two.' }, { text: 'Three.' }])
  const answerTo = async (...prompt: LanguageModelV4CallOptions['prompt']) => {
    const parts = await streamParts(model, { prompt })
    return parts.flatMap(part => (part.type === 'text-delta' ? part.delta : '')).join('')
  }

  test('repeats the answer for a repeated call', async () => {
    expect(await answerTo(user('a'))).toBe('One.')
    expect(await answerTo(user('a'), reply, user('b'))).toBe('One.')
    expect(await answerTo(user('a'), reply)).toBe('Two.')
    expect(await answerTo(user('a'))).toBe('One.')
  })

  test('starts a turn at a user message, not at a synthetic one', async () => {
    expect(await answerTo(user('a'), reply, reply, user('b'), reply)).toBe('Two.')
    expect(await answerTo(user('a'), reply, syntheticMessage('Go on.'))).toBe('Two.')
    expect(
      await answerTo(user('a'), reply, syntheticMessage('Go on.'), reply, syntheticMessage('It does not fit.')),
    ).toBe('Three.')
    // There is no message yet.
    expect(await answerTo(...promptOf([]))).toBe('One.')
  })

  test('repeats the answers in every turn of a session', async () => {
    const look = tool({ name: 'look', inputSchema: z.object({}), execute: () => 'seen' })
    const script = [{ text: 'Let me see. ', calls: [{ name: 'look', input: {} }] }, { text: 'I saw it.' }]
    const harness = new AgentHarness(scriptedModel(script), { tools: [look], maxRetries: 0 })
    for (const input of ['Look.', 'Look again.', 'And again.']) {
      const { result } = await harness.run(input)
      expect(result).toMatchObject({ status: 'completed', text: 'Let me see. I saw it.' })
    }
    await harness.close()
  })

  test('continues with the next answer after an invalid output, in every turn', async () => {
    const script = scriptedModel([{ text: '{"city":1}' }, { text: '{"city":"Ulm"}' }])
    const seen: string[] = []
    const watched = scriptedModel(async prompt => {
      seen.push(`${prompt.answers} ${prompt.turnAnswers} ${prompt.lastText}`)
      return [{ text: '{"city":1}' }, { text: '{"city":"Ulm"}' }][prompt.turnAnswers] ?? {}
    })
    for (const model of [script, watched]) {
      const harness = new AgentHarness(model, { outputSchema: z.object({ city: z.string() }) })
      for (const input of ['Where?', 'Where now?']) {
        expect((await harness.run(input)).result).toMatchObject({ status: 'completed', output: { city: 'Ulm' } })
      }
      await harness.close()
    }
    expect(seen).toEqual(['0 0 Where?', '1 1 Where?', '1 0 Where now?', '2 1 Where now?'])
  })
})

test('reports the usage and the finish reason of the script', async () => {
  const usage = { input: 10, output: 3, cached: 4, reasoning: 1 }
  const parts = await streamParts(scriptedModel([{ text: 'So.', usage, finishReason: 'length' }]))
  expect(parts.at(-1)).toMatchObject({
    finishReason: { unified: 'length' },
    usage: { inputTokens: { total: 10, cacheRead: 4 }, outputTokens: { total: 3, reasoning: 1 } },
  })
})

test('appends raw parts after all others', async () => {
  const source = { type: 'source', sourceType: 'url', id: 's', url: 'https://example.org' } as const
  const parts = await streamParts(scriptedModel([{ text: 'So.', parts: [source, finish('length', [1, 1])] }]))
  expect(parts.slice(-3)).toEqual([{ type: 'text-end', id: 'text' }, source, finish('length', [1, 1])])
  expect((await streamParts(scriptedModel([{ parts: [source] }]))).map(({ type }) => type)).toEqual([
    'stream-start',
    'source',
    'finish',
  ])
})

test('passes the prompt to a function', async () => {
  const seen: ScriptedPrompt[] = []
  const model = scriptedModel(async prompt => {
    seen.push(prompt)
    return { text: `You said ${prompt.lastText}` }
  })
  const prompt = [user('a'), reply, user('b')]
  const parts = await streamParts(model, { prompt, providerOptions: { millrace: { key: 'r/a/1' } } })
  expect(seen).toMatchObject([{ answers: 1, turnAnswers: 0, lastText: 'b', key: 'r/a/1', options: { prompt } }])
  expect(parts.flatMap(part => (part.type === 'text-delta' ? part.delta : '')).join('')).toBe('You said b')
  await streamParts(model, { prompt: [reply] })
  expect(seen[1]).toMatchObject({ lastText: '', key: '' })
})

test('reports how many answers it has if one is missing', async () => {
  const model = scriptedModel([{ text: 'One.' }])
  await expect(streamParts(model, { prompt: [reply] })).rejects.toThrow(
    'the script has 1 answers for a turn, but the model was called 2 times: add answers',
  )
})

test('throws an error after the scripted content', async () => {
  const error = new Error('overloaded')
  const { stream } = await scriptedModel([{ text: 'Half a', error }]).doStream({ prompt: [] })
  const reader = stream.getReader()
  const types: string[] = []
  const rest = (async () => {
    for (let next = await reader.read(); !next.done; next = await reader.read()) types.push(next.value.type)
  })()
  await expect(rest).rejects.toBe(error)
  expect(types).toEqual(['stream-start', 'text-start', 'text-delta', 'text-delta', 'text-end'])
})

describe('doGenerate', () => {
  const source = { type: 'source', sourceType: 'url', id: 's', url: 'https://example.org' } as const
  const answer = {
    reasoning: 'I think.',
    text: 'Let me see.',
    calls: [{ name: 'look', input: { a: 'b c' } }],
    usage: { input: 10, output: 3 },
    warnings: [{ type: 'unsupported', feature: 'seed' }],
    parts: [{ type: 'response-metadata', id: 'r' }, source],
  } satisfies ScriptedAnswer

  test('returns the complete answer', async () => {
    expect(await scriptedModel([answer]).doGenerate({ prompt: [user('Hello?')] })).toEqual({
      content: [
        { type: 'reasoning', text: 'I think.' },
        { type: 'text', text: 'Let me see.' },
        { type: 'tool-call', toolCallId: 'call-look-1', toolName: 'look', input: '{"a":"b c"}' },
        source,
      ],
      warnings: answer.warnings,
      response: { id: 'r' },
      finishReason: { unified: 'tool-calls', raw: undefined },
      usage: {
        inputTokens: { total: 10, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
        outputTokens: { total: 3, text: undefined, reasoning: undefined },
      },
    })
  })

  test('combines raw parts with their metadata', async () => {
    const signed = { providerMetadata: { maker: { signature: 's' } } }
    const citations = [{ source }]
    const parts: LanguageModelV4StreamPart[] = [
      { type: 'text-start', id: '0' },
      { type: 'text-delta', id: '0', delta: 'a' },
      { type: 'reasoning-delta', id: '0', delta: 'b', ...signed },
      { type: 'text-delta', id: '0', delta: 'c' },
      { type: 'text-end', id: '0', citations },
      { type: 'text-start', id: '0' },
      { type: 'text-delta', id: '0', delta: 'd' },
      { type: 'ping' },
    ]
    const { content } = await scriptedModel([{ parts }]).doGenerate({ prompt: [] })
    expect(content).toEqual([
      { type: 'text', text: 'ac', citations },
      { type: 'reasoning', text: 'b', ...signed },
      { type: 'text', text: 'd' },
    ])
  })

  test('throws an error of the stream or of a part', async () => {
    const error = new Error('overloaded')
    for (const answer of [{ text: 'Half a', error }, { parts: [{ type: 'error', error } as const] }]) {
      await expect(scriptedModel([answer]).doGenerate({ prompt: [] })).rejects.toBe(error)
    }
  })

  test('generates the same content as it streams', async () => {
    const model = scriptedModel([answer])
    const whole = { ...model, doStream: (call: LanguageModelV4CallOptions) => generateAsStream(model, call) }
    for (const each of [model, whole]) {
      const { answer } = await readAnswer(await streamParts(each))
      expect(answer).toMatchObject({ text: 'Let me see.', usage: { inputTokens: 10 }, finishReason: 'tool-calls' })
      expect(answer.warnings).toEqual([{ type: 'unsupported', feature: 'seed' }])
    }
  })
})

describe('pieceLength', () => {
  test('splits text without cutting characters', async () => {
    const parts = await streamParts(scriptedModel([{ text: '{"a": "𝄞b𝄞"}', pieceLength: 4 }]))
    const pieces = parts.flatMap(part => (part.type === 'text-delta' ? part.delta : []))
    expect(pieces).toEqual(['{"a"', ': "𝄞', 'b𝄞"}'])
  })

  test('splits reasoning and inputs', async () => {
    const parts = await streamParts(
      scriptedModel([{ reasoning: 'abc', calls: [{ name: 'look', input: { a: 1 } }], pieceLength: 2 }]),
    )
    const pieces = parts.flatMap(part => ('delta' in part ? part.delta : []))
    expect(pieces).toEqual(['ab', 'c', '{"', 'a"', ':1', '}'])
  })

  test.each([0, -1, 1.5, Number.NaN])('rejects a pieceLength of %s', async pieceLength => {
    await expect(streamParts(scriptedModel([{ text: 'a', pieceLength }]))).rejects.toThrow(
      `pieceLength: expected an integer of at least 1, found ${pieceLength}`,
    )
  })
})

describe('paceMs', () => {
  test('delays each token and nothing else', async () => {
    const clock = new Clock()
    const timers = clock.timers()
    const { stream } = await scriptedModel([{ text: 'one two' }], { paceMs: 100, timers }).doStream({ prompt: [] })
    const reader = stream.getReader()
    const texts: string[] = []
    const reading = (async () => {
      for (let next = await reader.read(); !next.done; next = await reader.read()) texts.push(next.value.type)
    })()
    await settled()
    expect(texts).toEqual(['stream-start', 'text-start'])
    await clock.advance(99)
    expect(texts).toHaveLength(2)
    await clock.advance(1)
    expect(texts).toHaveLength(3)
    await clock.advance(100)
    await reading
    expect(texts).toEqual(['stream-start', 'text-start', 'text-delta', 'text-delta', 'text-end', 'finish'])
    expect(clock.pendingTimers.size).toBe(0)
  })

  test('ends the delay at once on abort, with its reason', async () => {
    const clock = new Clock()
    const timers = clock.timers()
    const controller = new AbortController()
    const model = scriptedModel([{ text: 'one two' }], { paceMs: 100, timers })
    const reading = streamParts(model, { abortSignal: controller.signal })
    await settled()
    expect(clock.pendingTimers.size).toBe(1)
    const reason = new Error('stopped')
    controller.abort(reason)
    await expect(reading).rejects.toBe(reason)
    expect(clock.pendingTimers.size).toBe(0)
    await expect(streamParts(scriptedModel([{ text: 'one' }]), { abortSignal: controller.signal })).rejects.toBe(reason)
  })

  test('does not produce parts without a reader', async () => {
    const clock = new Clock()
    const timers = clock.timers()
    const { stream } = await scriptedModel([{ text: 'one two' }], { paceMs: 100, timers }).doStream({ prompt: [] })
    const reader = stream.getReader()
    for (const type of ['stream-start', 'text-start']) expect((await reader.read()).value?.type).toBe(type)
    await settled()
    expect(clock.pendingTimers.size).toBe(0)
  })
})

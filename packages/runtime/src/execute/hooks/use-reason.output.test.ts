// The output of useReason: how it is requested, validated and corrected.

import { expect, test } from 'vitest'
import { z } from 'zod'
import type { Model } from '../../model/model.ts'
import { type ScriptedAnswer, scriptedModel } from '../../model/scripted-model.ts'
import { recordingModel } from '../agent/run-to-end.fixture.ts'
import { runNode, structuredIn, textIn } from './reason.fixture.ts'
import { useReason } from './use-reason.ts'

const draft = z.object({ subject: z.string(), stars: z.number() })
const FITTING = '{"subject":"Hi","stars":3}'
const refused = { type: 'unsupported', feature: 'responseFormat' } as const

test('returns the object without showing text, and requests the schema by response format', async () => {
  const { model, modelCalls } = recordingModel([{ text: FITTING }])
  const { returned, log } = await runNode(() => useReason({ model, input: 'x', outputSchema: draft, id: 'draft' }))
  expect(returned).toMatchObject({ text: FITTING, output: { subject: 'Hi', stars: 3 } })
  expect(textIn(log)).toBe('')
  expect(structuredIn(log)).toEqual([])
  expect(modelCalls[0]?.responseFormat).toMatchObject({
    type: 'json',
    name: 'draft',
    schema: { required: ['subject', 'stars'] },
  })
})

/** A model whose support for schemas is unknown. */
const UNKNOWN = { supportsStructuredOutputs: undefined }

test('adds the schema to the prompt until the model has answered without a warning', async () => {
  const { model, modelCalls } = recordingModel([{ text: FITTING }, { text: FITTING }], UNKNOWN)
  await runNode(async () => {
    await useReason({ model, input: 'x', outputSchema: draft, system: 'Be brief.' })
    return useReason({ model, input: 'x', outputSchema: draft, system: 'Be brief.' })
  })
  expect(modelCalls.map(({ prompt }) => JSON.stringify(prompt[0]).includes('stars'))).toEqual([true, false])
  expect(modelCalls[1]?.prompt[0]).toEqual({ role: 'system', content: 'Be brief.' })
})

test('needs no second attempt for a model without schema support that is created for each call', async () => {
  let count = 0
  const { returned } = await runNode(async () => {
    const { model } = recordingModel(({ options }) => {
      count++
      const isTold = JSON.stringify(options.prompt).includes('stars')
      return { text: isTold ? FITTING : 'As you wish: 3 stars.', warnings: [refused] }
    }, UNKNOWN)
    return useReason({ model, input: 'x', outputSchema: draft, maxRetries: 0 })
  })
  expect(returned.output).toEqual({ subject: 'Hi', stars: 3 })
  expect(count).toBe(1)
})

test('adds the schema to each prompt and requests no format that the model lacks', async () => {
  const answers = (lacks: boolean): ScriptedAnswer => ({ text: FITTING, ...(lacks && { warnings: [refused] }) })
  const { model, modelCalls } = recordingModel(({ options }) => answers(options.responseFormat !== undefined), UNKNOWN)
  const { returned } = await runNode(async () => {
    for (let i = 0; i < 3; i++) await useReason({ model, input: 'x', outputSchema: draft })
    return useReason({ model, input: 'x', outputSchema: draft })
  })
  expect(returned.output).toEqual({ subject: 'Hi', stars: 3 })
  expect(
    modelCalls.map(({ responseFormat: format }) => format && ('schema' in format ? 'schema' : format.type)),
  ).toEqual(['schema', 'json', undefined, undefined])
  expect(modelCalls.map(({ prompt }) => JSON.stringify(prompt[0]).includes('subject'))).toEqual([
    true,
    true,
    true,
    true,
  ])
})

test('shares knowledge about a model between streaming and non-streaming calls', async () => {
  const modelCalls: unknown[] = []
  const strictModel = scriptedModel(({ options }) => {
    modelCalls.push(options.responseFormat)
    return { text: FITTING }
  })
  const model = { ...strictModel, supportsStructuredOutputs: false } as Model
  await runNode(() => useReason({ model, input: 'x', outputSchema: draft, stream: false }))
  expect(modelCalls).toEqual([{ type: 'json' }])
})

test('sends a custom format, and the schema in the prompt if the format lacks it', async () => {
  const { model, modelCalls } = recordingModel([{ text: FITTING }])
  await runNode(() => useReason({ model, input: 'x', outputSchema: draft, responseFormat: { type: 'text' } }))
  expect(modelCalls[0]?.responseFormat).toEqual({ type: 'text' })
  expect(JSON.stringify(modelCalls[0]?.prompt[0])).toContain('stars')
  const customFormat = { type: 'json', schema: { type: 'object', title: 'mine' } } as const
  await runNode(() => useReason({ model, input: 'x', outputSchema: draft, responseFormat: customFormat }))
  expect(modelCalls[1]?.responseFormat).toEqual(customFormat)
  await runNode(() => useReason({ model, input: 'x', outputSchema: draft, responseFormat: customFormat }))
  expect(modelCalls[2]?.prompt).toHaveLength(1)
})

test('sends jsonSchema to the model if the schema cannot be converted', async () => {
  const mute = { '~standard': { ...draft['~standard'], jsonSchema: undefined } } as unknown as typeof draft
  const { model, modelCalls } = recordingModel([{ text: FITTING }])
  const { returned } = await runNode(() =>
    useReason({ model, input: 'x', outputSchema: mute, jsonSchema: { type: 'object', title: 'told' } }),
  )
  expect(returned.output).toEqual({ subject: 'Hi', stars: 3 })
  expect(modelCalls[0]?.responseFormat).toMatchObject({ schema: { title: 'told' } })
})

test.each([
  ['a code fence around it', `\`\`\`json\n${FITTING}\n\`\`\``],
  ['text around it', `Sure, here it is:\n${FITTING}\nAnything else?`],
  ['a code fence and text around it', `Here [it] is:\n\`\`\`\n${FITTING}\n\`\`\`\nDone.`],
])('extracts and streams JSON with %s', async (_what, text) => {
  const { returned, log } = await runNode(() =>
    useReason({
      model: scriptedModel([{ text, pieceLength: 3 }]),
      input: 'x',
      outputSchema: draft,
      structured: { fields: { subject: 'text-delta' } },
    }),
  )
  expect(returned.output).toEqual({ subject: 'Hi', stars: 3 })
  expect(structuredIn(log).map(chunk => ('kind' in chunk ? chunk.kind : chunk.type))).toContain('text-delta')
})

test('requests an invalid answer again with the problem, and counts all usage', async () => {
  const { model, modelCalls } = recordingModel([
    { text: '{"subject":"Hi","stars":"three"}', usage: { input: 10, output: 4 } },
    { text: FITTING, usage: { input: 20, output: 5 } },
  ])
  const { returned, view } = await runNode(async context => {
    const result = await useReason({ model, input: 'x', outputSchema: draft })
    return { result, tokens: context.tokenUsage }
  })
  expect(returned.result).toMatchObject({ output: { stars: 3 }, usage: { inputTokens: 30, outputTokens: 9 } })
  expect(returned.tokens).toMatchObject({ inputTokens: 30, outputTokens: 9 })
  expect(view.runs[0]?.usage).toMatchObject({ inputTokens: 30, outputTokens: 9 })
  expect(modelCalls).toHaveLength(2)
  expect(JSON.stringify(modelCalls[1]?.prompt)).toMatch(/three.*stars.*Answer again/)
})

test('throws after all attempts are invalid, and withdraws the partial object', async () => {
  const { model, modelCalls } = recordingModel(() => ({ text: '{"subject":"Hi","stars":"three"}', pieceLength: 4 }))
  const { returned, view, log } = await runNode(() =>
    useReason({
      model,
      input: 'x',
      outputSchema: draft,
      structured: { fields: { subject: 'text-delta' } },
      maxRetries: 2,
    }).catch((error: unknown) => error),
  )
  expect(returned).toMatchObject({ code: 'output_invalid' })
  expect(modelCalls).toHaveLength(3)
  const updates = structuredIn(log)
  expect(updates.filter(({ type }) => type === 'structured-data-invalidated')).toHaveLength(3)
  expect(updates.some(chunk => 'kind' in chunk && chunk.kind === 'final')).toBe(false)
  expect(view.structured).toEqual([])
})

test("returns the model's text and the parsed output as JSON", async () => {
  const schema = z.object({ at: z.string().transform(text => new Date(text)), n: z.number().default(7) })
  const jsonSchema = { type: 'object' }
  const text = '{"at":"2026-01-02T00:00:00.000Z"}'
  const { returned } = await runNode(() =>
    useReason({ model: scriptedModel([{ text }]), input: 'x', outputSchema: schema, jsonSchema }),
  )
  expect(returned).toMatchObject({ text, output: { at: '2026-01-02T00:00:00.000Z', n: 7 } })
})

test('returns provider metadata', async () => {
  const model = scriptedModel([
    {
      warnings: [{ type: 'other', message: 'Mind.' }],
      parts: [
        { type: 'response-metadata', id: 'resp-1', modelId: 'm' },
        { type: 'text-start', id: 't' },
        { type: 'text-delta', id: 't', delta: 'So.' },
        { type: 'text-end', id: 't' },
        {
          type: 'finish',
          usage: {
            inputTokens: { total: 9, noCache: undefined, cacheRead: 4, cacheWrite: undefined },
            outputTokens: { total: 2, text: undefined, reasoning: 1 },
          },
          finishReason: { unified: 'length', raw: 'max_tokens' },
          providerMetadata: { acme: { tier: 'fast' } },
        },
      ],
    },
  ])
  const { returned } = await runNode(() =>
    useReason({ model, input: 'x', reasoning: { effort: 'huge', maxTokens: 50 } }),
  )
  expect(returned).toMatchObject({
    text: 'So.',
    finishReason: 'length',
    raw: { response: { id: 'resp-1', modelId: 'm' }, finishReason: 'max_tokens' },
    providerMetadata: { acme: { tier: 'fast' } },
    usage: { inputTokens: 9, outputTokens: 2 },
  })
  expect(returned.warnings).toMatchObject([
    { feature: 'reasoning.maxTokens' },
    { feature: 'reasoning.effort' },
    { type: 'other', message: 'Mind.' },
  ])
  expect(returned.steps).toHaveLength(1)
})

test('returns a large answer in full, shown or not', async () => {
  const words = (count: number) => 'word '.repeat(count)
  const model = (text: string) => scriptedModel([{ text, pieceLength: 4096 }])
  const outputSchema = z.object({ body: z.string() })
  const shown = { outputSchema, structured: { fields: { body: 'text-delta' } } } as const
  const { returned, view } = await runNode(async () => {
    const { text } = await useReason({ model: model(words(600_000)), input: 'x' })
    const hidden = await useReason({ model: model(JSON.stringify({ body: words(600_000) })), input: 'x', outputSchema })
    const seen = await useReason({ model: model(JSON.stringify({ body: words(150_000) })), input: 'x', ...shown })
    const large = { model: model(JSON.stringify({ body: words(300_000) })), input: 'x', maxRetries: 0, ...shown }
    const error = await useReason(large).catch((why: unknown) => why)
    return { text: text.length, hidden: hidden.output.body.length, seen: seen.output.body.length, error }
  })
  expect(returned).toMatchObject({
    text: 3_000_000,
    hidden: 3_000_000,
    seen: 750_000,
    error: { code: 'output_invalid' },
  })
  expect(view.structured.map(({ status }) => status)).toEqual(['done'])
})

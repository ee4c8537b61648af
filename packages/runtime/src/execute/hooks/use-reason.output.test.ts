// The object that useReason gives: how it is asked for, checked, and asked for again.

import { expect, test } from 'vitest'
import { z } from 'zod'
import type { Model } from '../../model/model.ts'
import { type ScriptedAnswer, scriptedModel } from '../../model/scripted-model.ts'
import { recordingModel } from '../agent/play.fixture.ts'
import { asking, structuredIn, textIn } from './reason.fixture.ts'
import { useReason } from './use-reason.ts'

const draft = z.object({ subject: z.string(), stars: z.number() })
const FITTING = '{"subject":"Hi","stars":3}'
const refused = { type: 'unsupported', feature: 'responseFormat' } as const

test('the object is given, and no text is shown; the format of the answer says the schema', async () => {
  const { model, modelCalls } = recordingModel([{ text: FITTING }])
  const { given, log } = await asking(() => useReason({ model, input: 'x', outputSchema: draft, id: 'draft' }))
  expect(given).toMatchObject({ text: FITTING, output: { subject: 'Hi', stars: 3 } })
  expect(textIn(log)).toBe('')
  expect(structuredIn(log)).toEqual([])
  expect(modelCalls[0]?.responseFormat).toMatchObject({
    type: 'json',
    name: 'draft',
    schema: { required: ['subject', 'stars'] },
  })
})

/** Nobody knows beforehand whether it takes a schema. */
const UNKNOWN = { supportsStructuredOutputs: undefined }

test('the schema is told too until the model has answered without a warning', async () => {
  const { model, modelCalls } = recordingModel([{ text: FITTING }, { text: FITTING }], UNKNOWN)
  await asking(async () => {
    await useReason({ model, input: 'x', outputSchema: draft, system: 'Be brief.' })
    return useReason({ model, input: 'x', outputSchema: draft, system: 'Be brief.' })
  })
  expect(modelCalls.map(({ prompt }) => JSON.stringify(prompt[0]).includes('stars'))).toEqual([true, false])
  expect(modelCalls[1]?.prompt[0]).toEqual({ role: 'system', content: 'Be brief.' })
})

test('a model without such a format, and made anew for each call, needs no second attempt', async () => {
  let count = 0
  const { given } = await asking(async () => {
    const { model } = recordingModel(({ options }) => {
      count++
      const isTold = JSON.stringify(options.prompt).includes('stars')
      return { text: isTold ? FITTING : 'As you wish: 3 stars.', warnings: [refused] }
    }, UNKNOWN)
    return useReason({ model, input: 'x', outputSchema: draft, maxRetries: 0 })
  })
  expect(given.output).toEqual({ subject: 'Hi', stars: 3 })
  expect(count).toBe(1)
})

test('a model without such a format is told the schema each time, and asked for no format that it lacks', async () => {
  const answers = (lacks: boolean): ScriptedAnswer => ({ text: FITTING, ...(lacks && { warnings: [refused] }) })
  const { model, modelCalls } = recordingModel(({ options }) => answers(options.responseFormat !== undefined), UNKNOWN)
  const { given } = await asking(async () => {
    for (let i = 0; i < 3; i++) await useReason({ model, input: 'x', outputSchema: draft })
    return useReason({ model, input: 'x', outputSchema: draft })
  })
  expect(given.output).toEqual({ subject: 'Hi', stars: 3 })
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

test('what is known of a model is known of it whether it streams or not', async () => {
  const modelCalls: unknown[] = []
  const own = scriptedModel(({ options }) => {
    modelCalls.push(options.responseFormat)
    return { text: FITTING }
  })
  const model = { ...own, supportsStructuredOutputs: false } as Model
  await asking(() => useReason({ model, input: 'x', outputSchema: draft, stream: false }))
  expect(modelCalls).toEqual([{ type: 'json' }])
})

test('a format that the caller wants is asked for, and the schema told where it does not say one', async () => {
  const { model, modelCalls } = recordingModel([{ text: FITTING }])
  await asking(() => useReason({ model, input: 'x', outputSchema: draft, responseFormat: { type: 'text' } }))
  expect(modelCalls[0]?.responseFormat).toEqual({ type: 'text' })
  expect(JSON.stringify(modelCalls[0]?.prompt[0])).toContain('stars')
  const own = { type: 'json', schema: { type: 'object', title: 'mine' } } as const
  await asking(() => useReason({ model, input: 'x', outputSchema: draft, responseFormat: own }))
  expect(modelCalls[1]?.responseFormat).toEqual(own)
  await asking(() => useReason({ model, input: 'x', outputSchema: draft, responseFormat: own }))
  expect(modelCalls[2]?.prompt).toHaveLength(1)
})

test('jsonSchema is what the model is told, where the schema cannot say it', async () => {
  const mute = { '~standard': { ...draft['~standard'], jsonSchema: undefined } } as unknown as typeof draft
  const { model, modelCalls } = recordingModel([{ text: FITTING }])
  const { given } = await asking(() =>
    useReason({ model, input: 'x', outputSchema: mute, jsonSchema: { type: 'object', title: 'told' } }),
  )
  expect(given.output).toEqual({ subject: 'Hi', stars: 3 })
  expect(modelCalls[0]?.responseFormat).toMatchObject({ schema: { title: 'told' } })
})

test.each([
  ['a fence', `\`\`\`json\n${FITTING}\n\`\`\``],
  ['words around it', `Sure, here it is:\n${FITTING}\nAnything else?`],
  ['both', `Here [it] is:\n\`\`\`\n${FITTING}\n\`\`\`\nDone.`],
])('JSON with %s', async (_what, text) => {
  const { given, log } = await asking(() =>
    useReason({
      model: scriptedModel([{ text, pieceLength: 3 }]),
      input: 'x',
      outputSchema: draft,
      structured: { fields: { subject: 'text-delta' } },
    }),
  )
  expect(given.output).toEqual({ subject: 'Hi', stars: 3 })
  expect(structuredIn(log).map(chunk => ('kind' in chunk ? chunk.kind : chunk.type))).toContain('text-delta')
})

test('an answer that does not fit is asked for once more, with what is wrong; all of it is counted', async () => {
  const { model, modelCalls } = recordingModel([
    { text: '{"subject":"Hi","stars":"three"}', usage: { input: 10, output: 4 } },
    { text: FITTING, usage: { input: 20, output: 5 } },
  ])
  const { given, view } = await asking(async context => {
    const result = await useReason({ model, input: 'x', outputSchema: draft })
    return { result, tokens: context.tokenUsage }
  })
  expect(given.result).toMatchObject({ output: { stars: 3 }, usage: { inputTokens: 30, outputTokens: 9 } })
  expect(given.tokens).toMatchObject({ inputTokens: 30, outputTokens: 9 })
  expect(view.runs[0]?.usage).toMatchObject({ inputTokens: 30, outputTokens: 9 })
  expect(modelCalls).toHaveLength(2)
  expect(JSON.stringify(modelCalls[1]?.prompt)).toMatch(/three.*stars.*Answer again/)
})

test('what never fits is not given: the rounds are bounded, and the partial object is taken away', async () => {
  const { model, modelCalls } = recordingModel(() => ({ text: '{"subject":"Hi","stars":"three"}', pieceLength: 4 }))
  const { given, view, log } = await asking(() =>
    useReason({
      model,
      input: 'x',
      outputSchema: draft,
      structured: { fields: { subject: 'text-delta' } },
      maxRetries: 2,
    }).catch((error: unknown) => error),
  )
  expect(given).toMatchObject({ code: 'output_invalid' })
  expect(modelCalls).toHaveLength(3)
  const said = structuredIn(log)
  expect(said.filter(({ type }) => type === 'structured-data-invalidated')).toHaveLength(3)
  expect(said.some(chunk => 'kind' in chunk && chunk.kind === 'final')).toBe(false)
  expect(view.structured).toEqual([])
})

test('the text is the model’s, the output the schema’s: transforms, defaults, dates as JSON', async () => {
  const schema = z.object({ at: z.string().transform(text => new Date(text)), n: z.number().default(7) })
  const jsonSchema = { type: 'object' }
  const text = '{"at":"2026-01-02T00:00:00.000Z"}'
  const { given } = await asking(() =>
    useReason({ model: scriptedModel([{ text }]), input: 'x', outputSchema: schema, jsonSchema }),
  )
  expect(given).toMatchObject({ text, output: { at: '2026-01-02T00:00:00.000Z', n: 7 } })
})

test('what the provider says of its answer comes back', async () => {
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
  const { given } = await asking(() => useReason({ model, input: 'x', reasoning: { effort: 'huge', maxTokens: 50 } }))
  expect(given).toMatchObject({
    text: 'So.',
    finishReason: 'length',
    raw: { response: { id: 'resp-1', modelId: 'm' }, finishReason: 'max_tokens' },
    providerMetadata: { acme: { tier: 'fast' } },
    usage: { inputTokens: 9, outputTokens: 2 },
  })
  expect(given.warnings).toMatchObject([
    { feature: 'reasoning.maxTokens' },
    { feature: 'reasoning.effort' },
    { type: 'other', message: 'Mind.' },
  ])
  expect(given.steps).toHaveLength(1)
})

test('a huge answer is given whole, shown or not', async () => {
  const words = (count: number) => 'word '.repeat(count)
  const model = (text: string) => scriptedModel([{ text, pieceLength: 4096 }])
  const outputSchema = z.object({ body: z.string() })
  const shown = { outputSchema, structured: { fields: { body: 'text-delta' } } } as const
  const { given, view } = await asking(async () => {
    const { text } = await useReason({ model: model(words(600_000)), input: 'x' })
    const hidden = await useReason({ model: model(JSON.stringify({ body: words(600_000) })), input: 'x', outputSchema })
    const seen = await useReason({ model: model(JSON.stringify({ body: words(150_000) })), input: 'x', ...shown })
    const large = { model: model(JSON.stringify({ body: words(300_000) })), input: 'x', maxRetries: 0, ...shown }
    const error = await useReason(large).catch((why: unknown) => why)
    return { text: text.length, hidden: hidden.output.body.length, seen: seen.output.body.length, error }
  })
  expect(given).toMatchObject({ text: 3_000_000, hidden: 3_000_000, seen: 750_000, error: { code: 'output_invalid' } })
  expect(view.structured.map(({ status }) => status)).toEqual(['done'])
})

// Each option of useReason has its effect.

import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { gate } from '../../api/test-runtime.fixture.ts'
import { tool } from '../../define/tool.ts'
import { MillraceError } from '../../error/error.ts'
import { type ScriptedAnswer, scriptedModel } from '../../model/scripted-model.ts'
import { recordingModel } from '../agent/run-to-end.fixture.ts'
import { publicOf, runNode, structuredIn, textIn } from './reason.fixture.ts'
import type { AnyReasonOptions } from './reason-plan.ts'
import { useReason } from './use-reason.ts'

test('passes settings to the model', async () => {
  const { model, modelCalls } = recordingModel([{ text: 'Fine.' }])
  const { returned } = await runNode(() =>
    useReason({
      model,
      input: 'How are you?',
      system: 'Be brief.',
      temperature: 0,
      maxOutputTokens: 77,
      stopSequences: ['END'],
      providerOptions: { acme: { tier: 'fast' } },
      reasoning: { effort: 'low' },
      responseFormat: { type: 'json', name: 'mine' },
    }),
  )
  expect(returned).toMatchObject({
    text: 'Fine.',
    output: undefined,
    finishReason: 'stop',
    toolCalls: [],
    warnings: [],
  })
  expect(modelCalls).toHaveLength(1)
  expect(modelCalls[0]).toMatchObject({
    temperature: 0,
    maxOutputTokens: 77,
    stopSequences: ['END'],
    reasoning: 'low',
    responseFormat: { type: 'json', name: 'mine' },
    providerOptions: { acme: { tier: 'fast' }, millrace: { attempt: 1 } },
    prompt: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: [{ type: 'text', text: 'How are you?' }] },
    ],
  })
})

test.each([
  ['text', 'What is it?', [{ role: 'user', content: [{ type: 'text', text: 'What is it?' }] }]],
  [
    'messages',
    [
      { role: 'user', content: 'A?' },
      { role: 'assistant', content: 'B.' },
      { role: 'user', content: [{ type: 'text', text: 'C?' }] },
    ],
    [
      { role: 'user', content: [{ type: 'text', text: 'A?' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'B.' }] },
      { role: 'user', content: [{ type: 'text', text: 'C?' }] },
    ],
  ],
  [
    'parts',
    [
      { type: 'text', text: 'What is on it?' },
      { type: 'file', url: 'data:image/png;base64,AAAA', mediaType: 'image/png' },
    ],
    [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is on it?' },
          { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AAAA' } },
        ],
      },
    ],
  ],
])('accepts an input of %s', async (_form, input, prompt) => {
  const { model, modelCalls } = recordingModel([{ text: 'So.' }])
  await runNode(() => useReason({ model, input: input as string }))
  expect(modelCalls[0]?.prompt).toEqual(prompt)
})

test('accepts a conversation as input', async () => {
  const { model, modelCalls } = recordingModel([{ text: 'So.' }])
  await runNode(({ messages }) => useReason({ model, input: messages }))
  expect(modelCalls[0]?.prompt).toEqual([{ role: 'user', content: [{ type: 'text', text: 'Go.' }] }])
})

test('streams by default, and with stream: false writes one delta', async () => {
  const customModel = scriptedModel([{ text: 'one two three', usage: { input: 4 } }])
  const refuse = () => Promise.reject(new Error('not asked for'))
  const streamed = await runNode(() => useReason({ model: { ...customModel, doGenerate: refuse }, input: 'x' }))
  expect(textIn(streamed.log)).toBe('one two three')
  const whole = await runNode(() =>
    useReason({ model: { ...customModel, doStream: refuse }, input: 'x', stream: false }),
  )
  const deltas = whole.log.flatMap(({ chunk }) => (chunk.type === 'text-delta' ? chunk.delta : []))
  expect(deltas).toEqual(['one two three'])
  expect(whole.returned).toMatchObject({ text: 'one two three', usage: { inputTokens: 4, outputTokens: 3 } })
})

test('emit: false hides the answer from readers and counts its usage', async () => {
  const look = tool({ name: 'look', inputSchema: z.object({}), execute: () => 'secret-seen' })
  const model = scriptedModel([
    {
      reasoning: 'secret-thought',
      text: 'secret-aside',
      calls: [{ name: 'look', input: {}, id: 'c1' }],
      usage: { input: 5, output: 2 },
    },
    { text: '{"a":"secret-end"}', usage: { input: 7, output: 3 } },
  ])
  const { returned, log, view } = await runNode(async context => {
    const result = await useReason({
      model,
      input: 'x',
      emit: false,
      tools: [look],
      outputSchema: z.object({ a: z.string() }),
      structured: { fields: { a: 'text-delta' } },
    })
    return { result, tokens: context.tokenUsage }
  })
  expect(returned.result.output).toEqual({ a: 'secret-end' })
  expect(returned.result.toolResults).toMatchObject([{ toolName: 'look', output: 'secret-seen' }])
  expect(JSON.stringify(publicOf(log))).not.toMatch(/secret|look/)
  expect(JSON.stringify(view)).not.toMatch(/secret|look/)
  expect(returned.tokens).toMatchObject({ inputTokens: 12, outputTokens: 5 })
  expect(view.runs[0]?.usage).toMatchObject({ inputTokens: 12, outputTokens: 5 })
})

test('emit: false keeps provider metadata internal', async () => {
  const usage = {
    inputTokens: { total: 3, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: 1, text: undefined, reasoning: undefined },
  }
  const answer: ScriptedAnswer = {
    text: 'x',
    warnings: [{ type: 'other', message: 'secret-warning' }],
    parts: [
      {
        type: 'finish',
        usage,
        finishReason: { unified: 'stop', raw: undefined },
        providerMetadata: { acme: { found: 'secret-source' } },
      },
    ],
  }
  const { returned, log } = await runNode(() => useReason({ model: scriptedModel([answer]), input: 'x', emit: false }))
  expect(returned).toMatchObject({
    providerMetadata: { acme: { found: 'secret-source' } },
    warnings: [{ message: 'secret-warning' }],
  })
  expect(JSON.stringify(publicOf(log))).not.toContain('secret')
})

test('includeThoughts: false hides reasoning, also if the next step needs it', async () => {
  const look = tool({ name: 'look', inputSchema: z.object({}), execute: () => 'seen' })
  const signed = { type: 'reasoning-end', id: 'r', providerMetadata: { acme: { signature: 'sig' } } } as const
  const { model, modelCalls } = recordingModel([
    {
      parts: [
        { type: 'reasoning-start', id: 'r' },
        { type: 'reasoning-delta', id: 'r', delta: 'secret-thought' },
        signed,
        { type: 'tool-call', toolCallId: 'c', toolName: 'look', input: '{}' },
      ],
    },
    { reasoning: 'secret-again', text: 'Done.' },
  ])
  const { returned, log } = await runNode(() =>
    useReason({ model, input: 'x', tools: [look], reasoning: { effort: 'low', includeThoughts: false } }),
  )
  expect(returned.text).toBe('Done.')
  expect(returned.warnings).toMatchObject([{ type: 'unsupported', feature: 'reasoning.includeThoughts' }])
  expect(JSON.stringify(publicOf(log))).not.toContain('secret')
  expect(modelCalls[1]?.prompt[1]).toMatchObject({
    role: 'assistant',
    content: [
      { type: 'reasoning', text: 'secret-thought', providerOptions: { acme: { signature: 'sig' } } },
      { type: 'tool-call', toolCallId: 'c' },
    ],
  })
  const shown = await runNode(() => useReason({ model: scriptedModel([{ reasoning: 'hm', text: 'So.' }]), input: 'x' }))
  expect(publicOf(shown.log).map(({ chunk }) => chunk.type)).toContain('reasoning-delta')
})

test('abortSignal discards the draft, and the node can continue', async () => {
  const firstWord = gate()
  const model = scriptedModel(() => ({ text: 'half ' }))
  const stuck: typeof model = {
    ...model,
    async doStream(call) {
      const { stream } = await model.doStream(call)
      const reader = stream.getReader()
      return {
        stream: new ReadableStream({
          async pull(controller) {
            const { value } = await reader.read()
            if (value?.type === 'text-end') {
              firstWord.open()
              return new Promise<void>(() => {})
            }
            if (value) controller.enqueue(value)
          },
        }),
      }
    },
  }
  const { returned, log, view } = await runNode(async () => {
    const controller = new AbortController()
    void firstWord.opened.then(() => controller.abort())
    const error = await useReason({ model: stuck, input: 'x', abortSignal: controller.signal }).catch(
      (why: unknown) => why,
    )
    const { text } = await useReason({ model: scriptedModel([{ text: 'after' }]), input: 'x' })
    return { error, text }
  })
  expect(returned.error).toBeInstanceOf(MillraceError)
  expect(returned).toMatchObject({ error: { code: 'hook_aborted' }, text: 'after' })
  expect(
    view.messages.at(-1)?.parts.flatMap(part => (part.type === 'text' && 'text' in part ? part.text : [])),
  ).toEqual(['after'])
  expect(log.filter(({ chunk }) => chunk.type === 'step-discarded')).toHaveLength(1)
  expect(view.drafts).toEqual([])
})

test('an aborted signal makes no call', async () => {
  const { model, modelCalls } = recordingModel([{ text: 'x' }])
  const { returned } = await runNode(() =>
    useReason({ model, input: 'x', abortSignal: AbortSignal.abort() }).catch((why: unknown) => why),
  )
  expect(returned).toMatchObject({ code: 'hook_aborted' })
  expect(modelCalls).toEqual([])
})

test('maxRetries limits retries', async () => {
  let calls = 0
  const model = scriptedModel(() => {
    calls++
    return { error: Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' }) }
  })
  const { result } = await runNode(() => useReason({ model, input: 'x', maxRetries: 1 }))
  expect(result.status).toBe('failed')
  expect(calls).toBe(2)
})

test('keeps ids and parts of parallel calls apart', async () => {
  const ran: number[] = []
  const look = tool({
    name: 'look',
    inputSchema: z.object({ n: z.number() }),
    execute: ({ n }) => {
      ran.push(n)
      return `seen ${n}`
    },
  })
  const model = (n: number) =>
    scriptedModel([
      { text: `looking ${n}`, calls: [{ name: 'look', input: { n }, id: 'same' }] },
      { text: `done ${n}` },
    ])
  const { returned, view, log } = await runNode(() =>
    Promise.all([1, 2, 3].map(n => useReason({ id: `call-${n}`, model: model(n), input: `${n}`, tools: [look] }))),
  )
  expect(returned.map(({ text }) => text)).toEqual(['done 1', 'done 2', 'done 3'])
  expect(returned.map(({ toolResults }) => toolResults.map(({ output }) => output))).toEqual([
    ['seen 1'],
    ['seen 2'],
    ['seen 3'],
  ])
  expect([...ran].sort()).toEqual([1, 2, 3])
  expect(new Set(returned.flatMap(({ toolCalls }) => toolCalls.map(({ toolCallId }) => toolCallId))).size).toBe(3)
  const texts = view.messages.at(-1)?.parts.flatMap(part => (part.type === 'text' && 'text' in part ? part.text : []))
  expect(texts?.sort()).toEqual(['done 1', 'done 2', 'done 3', 'looking 1', 'looking 2', 'looking 3'])
  expect(structuredIn(log)).toEqual([])
})

const model = scriptedModel([{ text: 'x' }])
const INVALID: readonly (readonly [options: unknown, message: string])[] = [
  [undefined, 'useReason: expected options, found undefined'],
  [{ input: 'x' }, 'useReason: model: expected a model'],
  [{ model, input: '' }, 'useReason: input: expected text that is not blank'],
  [{ model, input: 'x', system: 7 }, 'useReason: system: expected text, found 7'],
  [{ model, input: 'x', temperature: '1' }, 'useReason: temperature: expected a number, found "1"'],
  [
    { model, input: 'x', maxOutputTokens: 0 },
    'useReason: maxOutputTokens: expected a whole number of at least 1, found 0',
  ],
  [{ model, input: 'x', stopSequences: 'END' }, 'useReason: stopSequences: expected an array of texts'],
  [{ model, input: 'x', abortSignal: {} }, 'useReason: abortSignal: expected an AbortSignal, found an object'],
  [
    { model, input: 'x', responseFormat: { type: 'xml' } },
    'useReason: responseFormat.type: expected text or json, found "xml"',
  ],
  [{ model, input: 'x', emit: 'no' }, 'useReason: emit: expected true or false'],
  [{ model, input: 'x', stream: null }, 'useReason: stream: expected true or false, found null'],
  [{ model, input: 'x', structured: {} }, 'useReason: structured: expected outputSchema too, found none: set it'],
  [{ model, input: 'x', jsonSchema: {} }, 'useReason: jsonSchema: expected outputSchema too, found none: set it'],
  [
    { model, input: 'x', outputSchema: z.string() },
    'useReason: outputSchema: expected a schema of an object or an array',
  ],
  [{ model, input: 'x', outputSchema: {} }, 'useReason: outputSchema: expected a Standard Schema'],
  [
    { model, input: 'x', outputSchema: z.object({ a: z.string() }), structured: { fields: { 'a..b': 'set' } } },
    'useReason: structured.fields: ',
  ],
  [
    { model, input: 'x', outputSchema: z.object({ a: z.string() }), structured: { fields: { '': 'set' } } },
    'useReason: structured.fields: ',
  ],
  [
    { model, input: 'x', outputSchema: z.object({ a: z.string() }), structured: { fields: { a: 'grow' } } },
    'useReason: structured.fields: ',
  ],
  [
    { model, input: 'x', outputSchema: z.object({ a: z.string() }), structured: { fields: { bodi: 'set' } } },
    'useReason: structured.fields: expected fields of outputSchema, found bodi',
  ],
  [{ model, input: 'x', outputShema: z.object({}) }, 'useReason: outputShema: unknown option'],
  [
    { model, input: 'x', outputSchema: z.object({}), structured: { streem: true } },
    'useReason: structured.streem: unknown option',
  ],
  [{ model, input: 'x', toolExecution: { maxStep: 2 } }, 'useReason: toolExecution.maxStep: unknown option: remove it'],
  [
    { model, input: 'x', toolExecution: { emit: { search: true } } },
    'useReason: toolExecution.emit: unknown option: readers see all tool calls: remove it, or hide the calls together with the answer by the option emit: false',
  ],
  [
    { model, input: 'x', outputSchema: z.object({}), structured: { optimistic: true } },
    'useReason: structured.optimistic: unknown option: fields are shown while the model writes them: remove it, or declare them in structured.fields',
  ],
  [{ model, input: 'x', reasoning: { efort: 'low' } }, 'useReason: reasoning.efort: unknown option'],
  [{ model, input: 'x', interrupt: { modes: 'optional' } }, 'useReason: interrupt.modes: unknown option'],
  [{ model, input: 'x', interrupt: {} }, 'useReason: interrupt.requestSchema: expected a Standard Schema'],
  [{ model, input: 'x', interrupt: { mode: 'maybe' } }, 'useReason: interrupt.mode: expected required or optional'],
  [{ model, input: 'x', tools: [{}] }, 'useReason: tools.0: expected the result of tool()'],
  [{ model, input: 'x', toolExecution: { maxSteps: 0 } }, 'useReason: toolExecution.maxSteps: expected a whole number'],
  [
    { model, input: 'x', toolExecution: { approval: { none: true } } },
    'toolExecution.approval: expected names of the tools, found none',
  ],
  [{ model, input: 'x', maxRetries: -1 }, 'useReason: maxRetries: expected a whole number of at least 0, found -1'],
  [{ model, input: 'x', reasoning: { maxTokens: 0 } }, 'reasoning.maxTokens: expected an integer of at least 1'],
]
test.each(INVALID.map(([options, message]) => [message, options] as const))(
  'rejects invalid options before a model is called: %s',
  async (message, options) => {
    const { returned } = await runNode(() => useReason(options as AnyReasonOptions).catch((error: Error) => error))
    expect(returned).toMatchObject({ code: 'validation_failed', message: expect.stringContaining(message) })
  },
)

test('shows the text of the result', async () => {
  const { returned, log } = await runNode(() =>
    useReason({ model: scriptedModel([{ text: 'all of it' }]), input: 'x' }),
  )
  expect(textIn(log)).toBe(returned.text)
})

test('gives each model call a unique key', async () => {
  const { model, modelCalls } = recordingModel([{ text: 'a' }])
  await runNode(async () => {
    await useReason({ model, input: 'x' })
    await useReason({ model, input: 'x' })
  })
  const keys = modelCalls.map(
    ({ providerOptions }: LanguageModelV4CallOptions) => providerOptions?.['millrace']?.['key'],
  )
  expect(new Set(keys).size).toBe(2)
})

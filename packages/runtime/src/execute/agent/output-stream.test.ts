import { type Entry, Fold, type Json } from '@millrace/protocol'
import { type } from 'arktype'
import * as v from 'valibot'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../../define/agent.ts'
import { tool } from '../../define/tool.ts'
import { scriptedModel } from '../../model/scripted-model.ts'
import { outputStreamId } from '../../session/session.ts'
import { callsOf, chunksOf, commitOf, recordingModel, runToEnd } from './run-to-end.fixture.ts'

const recipe = z.object({
  title: z.string(),
  level: z.enum(['easy', 'hard']),
  steps: z.array(z.string()),
  cook: z.object({ name: z.string(), age: z.number().nullable() }),
})
const soup = {
  title: 'A soup of many words',
  level: 'easy' as const,
  steps: ['cut', 'boil'],
  cook: { name: 'Ann', age: 7 },
}

/** Each state of the structured output that a reader can see, in order. */
function shownBy(log: readonly Entry[], runId: string): (Json | undefined)[] {
  const fold = new Fold()
  const shown: (Json | undefined)[] = []
  for (const entry of log) {
    fold.apply([entry])
    if (entry.chunk.type.startsWith('structured-'))
      shown.push(structuredClone(fold.structured(outputStreamId(runId))?.data))
  }
  return shown
}

const text = JSON.stringify(soup, null, 1)

test('streams the output as structured data at dotted paths, and commits it with the last step', async () => {
  const { model, modelCalls } = recordingModel([{ text }])
  const cook = agent({ name: 'cook', model, outputSchema: recipe })
  // One append per word, so that each state is visible.
  const { result, log, view } = await runToEnd(cook, { log: { coalesceMs: 0 } }, { runId: 'r' })
  expect(result).toMatchObject({ status: 'completed', output: soup, text: '' })
  expect(view.output).toEqual(soup)
  const updates = chunksOf(log, 'structured-data')
  expect(updates.every(({ streamId, dataType }) => streamId === 'output:r' && dataType === 'cook')).toBe(true)
  const updatesAt = (path: string) => updates.filter(update => 'path' in update && update.path === path)
  expect(
    updatesAt('title')
      .map(update => update.kind === 'text-delta' && update.delta)
      .join(''),
  ).toBe(soup.title)
  expect(updatesAt('level')).toMatchObject([{ kind: 'set', value: 'easy' }])
  expect(updatesAt('steps').flatMap(update => (update.kind === 'append' ? update.items : []))).toEqual(['cut', 'boil'])
  expect(updatesAt('cook.name').map(({ kind }) => kind)).toEqual(['text-delta'])
  expect(updatesAt('cook.age')).toMatchObject([{ kind: 'set', value: 7 }])
  expect(updates.at(-1)).toMatchObject({ kind: 'final', data: soup })
  expect(shownBy(log, 'r')[0]).toEqual({ title: 'A' })
  expect(modelCalls[0]?.responseFormat).toMatchObject({ type: 'json', name: 'cook', schema: { type: 'object' } })
  // The output, the end of the step and the end of the run are one batch.
  const end = commitOf(log, ({ type }) => type === 'output').map(({ type }) => type)
  expect(end.slice(end.indexOf('output'))).toEqual(['output', 'step-finish', 'checkpoint-created'])
  const types = log.map(({ chunk }) => chunk.type)
  expect(types.slice(-3)).toEqual(['checkpoint-created', 'finish', 'run-finished'])
})

test('stores the parsed output as JSON', async () => {
  const output = z.object({ at: z.string().transform(at => new Date(at)), n: z.number().default(1) })
  const { result } = await runToEnd(
    agent({ name: 'a', model: scriptedModel([{ text: '{"at":"2026-01-01"}' }]), outputSchema: output }),
  )
  expect(result.output).toEqual({ at: '2026-01-01T00:00:00.000Z', n: 1 })
})

test.each([
  ['valibot', v.object({ n: v.number() }), { type: 'object', properties: { n: { type: 'number' } } }],
  ['arktype', type({ n: 'number' }), undefined],
])('validates an output by a schema of %s', async (_, output, jsonSchema) => {
  const model = scriptedModel([{ text: '{"n":1}' }])
  const { result } = await runToEnd(
    agent({ name: 'a', model, outputSchema: output, ...(jsonSchema && { jsonSchema }) }),
  )
  expect(result.output).toEqual({ n: 1 })
})

test.each([
  ['a code fence around it', `\`\`\`json\n${text}\n\`\`\``],
  ['text before it', `Sure! Here is your recipe:\n\n${text}`],
  ['text after it', `${text}\n\nI hope it is good.`],
  ['text and a code fence around it', `Here you are:\n\`\`\`\n${text}\n\`\`\`\nEnjoy {it}!`],
])('extracts an output with %s', async (_, answer) => {
  const { result } = await runToEnd(
    agent({ name: 'a', model: scriptedModel([{ text: answer }]), outputSchema: recipe }),
  )
  expect(result).toMatchObject({ status: 'completed', output: soup })
})

test('streams the items of a list one by one', async () => {
  const output = z.array(z.object({ name: z.string(), tags: z.array(z.string()) }))
  const list = [
    { name: 'one two', tags: ['a', 'b'] },
    { name: 'three', tags: [] },
  ]
  const model = scriptedModel([{ text: JSON.stringify(list, null, 1) }])
  const { result, log } = await runToEnd(
    agent({ name: 'a', model, outputSchema: output }),
    { log: { coalesceMs: 0 } },
    { runId: 'r' },
  )
  expect(result.output).toEqual(list)
  const shown = shownBy(log, 'r')
  expect(shown[0]).toEqual([{ name: 'one' }])
  expect(shown).toContainEqual([{ name: 'one two', tags: ['a', 'b'] }, { name: 'three' }])
})

test('sends an output of a union, or a deeply nested one, whole', async () => {
  const deep = z.object({ a: z.object({ b: z.object({ c: z.object({ d: z.object({ e: z.string() }) }) }) }) })
  const output = z.union([deep, z.object({ other: z.string() })])
  const value = { a: { b: { c: { d: { e: 'x y' } } } } }
  for (const schema of [output, deep]) {
    const model = scriptedModel([{ text: JSON.stringify(value) }])
    const { result } = await runToEnd(agent({ name: 'a', model, outputSchema: schema }))
    expect(result.output).toEqual(value)
  }
})

test('discards an invalid answer and asks again with the problem', async () => {
  const bad = JSON.stringify({ ...soup, level: 'odd' })
  const answers = [{ text: bad, usage: { output: 7 } }, { text: 'I will not.' }, { text }]
  const { model, modelCalls } = recordingModel(() => answers[modelCalls.length - 1] ?? {})
  const { result, log } = await runToEnd(
    agent({ name: 'a', model, outputSchema: recipe, maxRetries: 2 }),
    {},
    { runId: 'r' },
  )
  expect(result).toMatchObject({ status: 'completed', output: soup })
  expect(chunksOf(log, 'step-discarded')).toMatchObject([
    { reason: 'output_invalid', attempt: 1, usage: { outputTokens: 7 } },
    { reason: 'output_invalid', attempt: 2 },
  ])
  expect(modelCalls).toHaveLength(3)
  const last = (n: number) => modelCalls[n]?.prompt.slice(-2)
  expect(last(1)).toMatchObject([
    { role: 'assistant', content: [{ text: bad }] },
    {
      role: 'user',
      content: [{ text: expect.stringMatching(/^the answer does not match the output schema: level: .*again/) }],
    },
  ])
  expect(last(2)).toMatchObject([
    { role: 'assistant', content: [{ text: 'I will not.' }] },
    { role: 'user', content: [{ text: expect.stringMatching(/^the answer does not match the output schema: /) }] },
  ])
  // The corrections are not part of the conversation.
  expect(result.message?.parts.map(({ type: kind }) => kind)).toEqual(['step-start'])
  expect(JSON.stringify(result.message)).not.toContain('odd')
})

test('fails the run if no answer is valid, and shows the problem only to the model and the logger', async () => {
  const { model, modelCalls } = recordingModel(() => ({ text: '{"title": 1}' }))
  const { result, view, logged } = await runToEnd(agent({ name: 'a', model, outputSchema: recipe, maxRetries: 1 }))
  expect(modelCalls).toHaveLength(2)
  expect(logged[0]).toMatchObject({
    message: 'a model call failed',
    cause: { message: expect.stringMatching(/^title: /) },
  })
  expect(result).toMatchObject({ status: 'failed', output: undefined, error: { code: 'output_invalid' } })
  expect(result.error?.message).toBe('the answer does not match the output schema')
  expect(view.structured).toEqual([])
})

test('rejects a truncated answer', async () => {
  const { model } = recordingModel([{ text: text.slice(0, -5), finishReason: 'length' }, { text }])
  const { result } = await runToEnd(agent({ name: 'a', model, outputSchema: recipe }))
  expect(result).toMatchObject({ status: 'completed', output: soup })
})

test('fails the run at once if the schema returns a value that is not JSON', async () => {
  const { model, modelCalls } = recordingModel(() => ({ text: '{"n":"1"}' }))
  const output = z.object({ n: z.string().transform(BigInt) })
  const { result } = await runToEnd(agent({ name: 'a', model, outputSchema: output as never }))
  expect(result).toMatchObject({ status: 'failed', error: { code: 'output_invalid' } })
  expect(modelCalls).toHaveLength(1)
})

test.each<[string, z.ZodType, (text: string) => Json]>([
  ['a text', z.object({ a: z.string() }), a => ({ a })],
  ['a value that is sent in one piece', z.object({ map: z.record(z.string(), z.string()) }), a => ({ map: { a } })],
  ['an item of a list', z.object({ list: z.array(z.string()) }), a => ({ list: [a] })],
])('law 6: asks again for an output that exceeds an entry because of %s', async (_, output, value) => {
  const { model, modelCalls } = recordingModel([
    { text: JSON.stringify(value('x'.repeat(6000))) },
    { text: JSON.stringify(value('short')) },
  ])
  const { result, log } = await runToEnd(agent({ name: 'a', model, outputSchema: output }), {
    log: { maxEntryBytes: 4096 },
  })
  expect(result).toMatchObject({ status: 'completed', output: value('short') })
  expect(chunksOf(log, 'step-discarded')).toMatchObject([{ reason: 'output_invalid' }])
  expect(JSON.stringify(modelCalls[1]?.prompt.at(-1))).toContain('exceeds the size limit of the log')
})

const look = tool({ name: 'look', inputSchema: z.object({}), execute: () => 'seen' })
const call = (id: string) => [{ name: 'look', input: {}, id }]

test('shows text next to calls as text, and the answer after them as output', async () => {
  const { model, modelCalls } = recordingModel([
    { text: 'Let me look.', calls: call('a') },
    { text: 'And again.', calls: call('b') },
    { text },
  ])
  const { result } = await runToEnd(agent({ name: 'a', model, outputSchema: recipe, tools: [look] }))
  expect(result).toMatchObject({ status: 'completed', output: soup, text: 'Let me look.And again.' })
  expect(result.message?.parts.map(({ type: kind }) => kind)).toEqual([
    'step-start',
    'text',
    'tool',
    'step-start',
    'text',
    'tool',
    'step-start',
  ])
  expect(result.message?.parts.filter(part => 'text' in part)).toMatchObject([
    { text: 'Let me look.', state: 'done' },
    { text: 'And again.', state: 'done' },
  ])
  expect(modelCalls[2]?.prompt.filter(({ role }) => role === 'assistant')).toMatchObject([
    {
      content: [
        { type: 'text', text: 'Let me look.' },
        { type: 'tool-call', toolCallId: 'a' },
      ],
    },
    {
      content: [
        { type: 'text', text: 'And again.' },
        { type: 'tool-call', toolCallId: 'b' },
      ],
    },
  ])
})

test('withdraws JSON next to calls and shows it as text', async () => {
  const early = JSON.stringify({ ...soup, steps: ['early'] })
  const { model } = recordingModel([{ text: early, calls: call('a') }, { text }])
  const cook = agent({ name: 'a', model, outputSchema: recipe, tools: [look] })
  const { result, log } = await runToEnd(cook, { log: { coalesceMs: 0 } }, { runId: 'r' })
  expect(result).toMatchObject({ status: 'completed', output: soup, text: early })
  expect(chunksOf(log, 'structured-data-invalidated')).toEqual([
    { type: 'structured-data-invalidated', streamId: 'output:r', reason: 'tool-calls' },
  ])
  const shown = shownBy(log, 'r')
  const discardIndex = shown.indexOf(undefined)
  expect(shown.slice(discardIndex + 1).every(data => !JSON.stringify(data).includes('early'))).toBe(true)
})

test('shows text after a call as text', async () => {
  const { model } = recordingModel([
    {
      calls: call('a'),
      parts: [
        { type: 'text-start', id: 't' },
        { type: 'text-delta', id: 't', delta: 'I have ' },
        { type: 'text-delta', id: 't', delta: 'looked.' },
        { type: 'text-end', id: 't' },
      ],
    },
    { text },
  ])
  const { result } = await runToEnd(agent({ name: 'a', model, outputSchema: recipe, tools: [look] }))
  expect(result).toMatchObject({ status: 'completed', output: soup, text: 'I have looked.' })
  expect(callsOf(result.message)).toHaveLength(1)
})

test("sends the output as the model's answer in the next turn", async () => {
  const { model, modelCalls } = recordingModel(() => ({ text }))
  const cook = agent({ name: 'cook', model, outputSchema: recipe })
  const { runtime } = await runToEnd(cook)
  const second = await (await runtime.start({ agent: cook, session: 's', input: 'Again.' })).result()
  expect(second.output).toEqual(soup)
  expect(modelCalls[1]?.prompt.map(({ role }) => role)).toEqual(['user', 'assistant', 'user'])
  expect(modelCalls[1]?.prompt[1]).toMatchObject({ content: [{ type: 'text', text: JSON.stringify(soup) }] })
})

test('has no output in a run without one after a run with one', async () => {
  const cook = agent({ name: 'cook', model: scriptedModel(() => ({ text })), outputSchema: recipe })
  const talk = agent({ name: 'talk', model: scriptedModel(() => ({ text: 'Hello.' })) })
  const { runtime } = await runToEnd(cook, { agents: [cook, talk] })
  const result = await (await runtime.start({ agent: talk, session: 's', input: 'Hi.' })).result()
  expect(result).toMatchObject({ status: 'completed', text: 'Hello.', output: undefined })
})

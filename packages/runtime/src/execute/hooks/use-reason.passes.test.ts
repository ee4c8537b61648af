// The two passes of a model that asks a person, and what they reject.

import { expect, test } from 'vitest'
import { z } from 'zod'
import { tool } from '../../define/tool.ts'
import { scriptedModel } from '../../model/scripted-model.ts'
import { recordingModel } from '../agent/run-to-end.fixture.ts'
import { answerInterrupt, runNode, structuredIn } from './reason.fixture.ts'
import { useReason } from './use-reason.ts'

const requestSchema = z.object({ kind: z.literal('text'), question: z.string() })
const interruptRequest = { kind: 'text', question: 'Go on?' }
const draft = (output: object) => JSON.stringify({ output, interruptRequest })

test('law 9: a second pass with tools withdraws the draft once', async () => {
  const look = tool({ name: 'look', inputSchema: z.object({}), execute: () => 'seen' })
  const model = scriptedModel(({ options: { prompt } }) => {
    if (!JSON.stringify(prompt).includes('The person answered')) return { text: draft({ a: 'draft' }) }
    if (prompt.some(({ role }) => role === 'tool')) return { text: '{"a":"final"}' }
    return { text: '{"a":"beside"}', calls: [{ name: 'look', input: {} }] }
  })
  const paused = await runNode(() =>
    useReason({
      model,
      input: 'x',
      outputSchema: z.object({ a: z.string() }),
      structured: { fields: { a: 'text-delta' } },
      tools: [look],
      interrupt: { requestSchema },
    }),
  )
  const { log, view } = await answerInterrupt(paused, 'yes')
  const updates = structuredIn(log).map(chunk =>
    chunk.type === 'structured-data' ? ('delta' in chunk ? chunk.delta : chunk.kind) : chunk.reason,
  )
  expect(updates).toEqual(['draft', 'continued', 'beside', 'tool-calls', 'final', 'final'])
  expect(view.structured).toMatchObject([{ status: 'done', data: { a: 'final' } }])
})

test.each([
  ['begins with a numeric key', draft({ 0: { t: 'zero' }, a: { t: 'x' } }), [['a.t', 'x']]],
  ['has only numeric keys', draft({ 0: { t: 'zero' }, 1: { t: 'one' } }), []],
  [
    'has numeric keys after others',
    `{"output":{"a":{"t":"x"},"1":{"t":"one"}},"interruptRequest":${JSON.stringify(interruptRequest)}}`,
    [
      ['a.t', 'x'],
      ['1.t', 'one'],
    ],
  ],
  [
    'has the key output twice',
    `{"output":{"a":{"t":"x"}},"output":{"b":{"t":"y"}},"interruptRequest":${JSON.stringify(interruptRequest)}}`,
    [['a.t', 'x']],
  ],
])('law 9: writes only updates that apply for a draft that %s', async (_how, text, shown) => {
  const { log, result } = await runNode(() =>
    useReason({
      model: scriptedModel([{ text }]),
      input: 'x',
      outputSchema: z.record(z.string(), z.object({ t: z.string() })),
      structured: { fields: { '*.t': 'text-delta' } as never },
      interrupt: { requestSchema },
    }),
  )
  expect(result.status).toBe('paused')
  const updates = structuredIn(log).map(chunk => 'delta' in chunk && [chunk.path, chunk.delta])
  expect(updates).toEqual(shown)
})

test('asks the model again for a request that does not fit the log', async () => {
  const { model, modelCalls } = recordingModel(() => ({
    text: JSON.stringify({
      draftText: 'd',
      interruptRequest: { kind: 'text', question: modelCalls.length === 1 ? 'q'.repeat(1_200_000) : 'Short?' },
    }),
    usage: { input: 10, output: 5 },
  }))
  const { view, result } = await runNode(() => useReason({ model, input: 'x', interrupt: { requestSchema } }))
  expect(view.pendings).toMatchObject([{ interrupt: { input: { question: 'Short?' } } }])
  expect(JSON.stringify(modelCalls[1]?.prompt.at(-1))).toContain('exceeds the size limit of an interrupt')
  expect(result.usage).toMatchObject({ inputTokens: 20 })
})

test('rejects a finishing tool with outputSchema or interrupt', async () => {
  const end = tool({ name: 'end', inputSchema: z.object({}), finish: true, execute: () => ({ decision: 'continue' }) })
  const model = scriptedModel([{ calls: [{ name: 'end', input: {} }] }])
  const options = { model, input: 'x', tools: [end] } as const
  const { returned, result } = await runNode(async () => {
    const schema = await useReason({ ...options, outputSchema: z.object({ a: z.string() }) }).catch((why: Error) => why)
    const person = await useReason({ ...options, interrupt: { requestSchema } }).catch((why: Error) => why)
    const { toolResults } = await useReason(options)
    return { schema, person, toolResults }
  })
  expect(returned).toMatchObject({
    schema: { code: 'validation_failed', message: expect.stringMatching(/end has finish: true.*outputSchema/) },
    person: { code: 'validation_failed', message: expect.stringMatching(/end has finish: true.*interrupt/) },
    toolResults: [{ toolName: 'end', output: { decision: 'continue' } }],
  })
  expect(result.status).toBe('completed')
})

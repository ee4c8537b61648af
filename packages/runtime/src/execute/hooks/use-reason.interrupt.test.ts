// A model that asks a person before it answers.

import { expect, test } from 'vitest'
import { z } from 'zod'
import { tool } from '../../define/tool.ts'
import type { ScriptedAnswer } from '../../model/scripted-model.ts'
import { formChecks } from '../../schema/form-checks.fixture.ts'
import { formResponseProblem } from '../../schema/form-response.ts'
import { recordingModel } from '../agent/run-to-end.fixture.ts'
import { answerInterrupt, runNode, structuredIn, textIn } from './reason.fixture.ts'
import { useInterrupt } from './use-interrupt.ts'
import { useReason } from './use-reason.ts'

const email = z.object({ subject: z.string(), body: z.string() })
const question = z.object({
  kind: z.literal('choice'),
  question: z.string(),
  options: z.array(z.object({ id: z.string(), label: z.string() })),
})
const request = {
  kind: 'choice',
  question: 'Which tone?',
  options: [
    { id: 'dry', label: 'Dry' },
    { id: 'warm', label: 'Warm' },
  ],
}
const first = (more: object = {}): ScriptedAnswer => ({
  text: JSON.stringify({ output: { subject: 'Draft', body: 'Dear Ann' }, interruptRequest: request, ...more }),
  pieceLength: 5,
  usage: { input: 10, output: 4 },
  warnings: [{ type: 'other', message: 'Mind.' }],
})
const second: ScriptedAnswer = {
  text: JSON.stringify({ subject: 'Final', body: 'Well, Ann' }),
  pieceLength: 5,
  usage: { input: 20, output: 6 },
  warnings: [
    { type: 'other', message: 'Mind.' },
    { type: 'other', message: 'More.' },
  ],
}
const fields = { subject: 'set', body: 'text-delta' } as const

test('shows the draft while the person is asked, then replaces it, and counts both passes', async () => {
  const { model, modelCalls } = recordingModel(({ lastText }) =>
    lastText.includes('The person answered') ? second : first(),
  )
  const paused = await runNode(async context => {
    const result = await useReason({
      model,
      input: 'Write to Ann',
      outputSchema: email,
      structured: { dataType: 'email', fields },
      interrupt: {
        requestSchema: question,
        responseSchema: z.enum(['dry', 'warm']),
        schemaId: 'tone',
        schemaVersion: '1',
      },
    })
    return { result, tokens: context.tokenUsage }
  })
  expect(paused.result.status).toBe('paused')
  expect(paused.view.structured).toMatchObject([{ status: 'streaming', data: { subject: 'Draft', body: 'Dear Ann' } }])
  expect(paused.view.pendings).toMatchObject([
    { kind: 'interrupt', interrupt: { schemaId: 'tone', schemaVersion: '1', input: { question: 'Which tone?' } } },
  ])
  expect(modelCalls[0]?.responseFormat).toMatchObject({
    schema: { required: ['output', 'interruptRequest'], properties: { output: { required: ['subject', 'body'] } } },
  })
  const { returned, view, log } = await answerInterrupt(paused, 'dry')
  expect(modelCalls).toHaveLength(2)
  expect(JSON.stringify(modelCalls[1]?.prompt)).toMatch(/Dear Ann.*Which tone.*dry/)
  expect(modelCalls[1]?.responseFormat).toMatchObject({ schema: { required: ['subject', 'body'] } })
  expect(returned.result).toMatchObject({
    output: { subject: 'Final', body: 'Well, Ann' },
    interruptResponse: 'dry',
    usage: { inputTokens: 30, outputTokens: 10 },
    warnings: [{ message: 'Mind.' }, { message: 'More.' }],
  })
  expect(returned.result.steps).toHaveLength(2)
  expect(returned.tokens).toMatchObject({ inputTokens: 30, outputTokens: 10 })
  expect(view.runs[0]?.usage).toMatchObject({ inputTokens: 30, outputTokens: 10 })
  expect(view.structured).toMatchObject([{ status: 'done', data: { subject: 'Final', body: 'Well, Ann' } }])
  expect(new Set(structuredIn(log).map(({ streamId }) => streamId)).size).toBe(1)
  expect(structuredIn(log).filter(({ type }) => type === 'structured-data-invalidated')).toMatchObject([
    { reason: 'continued' },
  ])
  expect(textIn(log)).toBe('')
})

test('returns text without an output schema and shows none', async () => {
  const { model } = recordingModel(({ lastText }) =>
    lastText.includes('The person answered')
      ? { text: 'Well then.' }
      : { text: JSON.stringify({ draftText: 'Perhaps.', interruptRequest: { kind: 'text', question: 'Why?' } }) },
  )
  const paused = await runNode(() =>
    useReason({
      model,
      input: 'x',
      interrupt: { requestSchema: z.object({ kind: z.literal('text'), question: z.string() }) },
    }),
  )
  expect(textIn(paused.log)).toBe('')
  const { returned, log } = await answerInterrupt(paused, 'because')
  expect(returned).toMatchObject({ text: 'Well then.', output: undefined, interruptResponse: 'because' })
  expect(textIn(log)).toBe('')
  expect(structuredIn(log)).toEqual([])
})

test('continues without asking in the mode optional, if the model decides so', async () => {
  const { model, modelCalls } = recordingModel([first({ decision: 'continue', interruptRequest: undefined })])
  const { returned, result, view, log } = await runNode(() =>
    useReason({
      model,
      input: 'x',
      outputSchema: email,
      structured: { fields },
      interrupt: { mode: 'optional', requestSchema: question },
    }),
  )
  expect(result.status).toBe('completed')
  expect(modelCalls[0]?.responseFormat).toMatchObject({
    schema: {
      required: ['decision', 'output', 'interruptRequest'],
      properties: { interruptRequest: { anyOf: [{ type: 'object' }, { type: 'null' }] } },
    },
  })
  expect(returned).toMatchObject({
    output: { subject: 'Draft', body: 'Dear Ann' },
    text: JSON.stringify({ subject: 'Draft', body: 'Dear Ann' }),
    interruptResponse: undefined,
  })
  expect(view.structured).toMatchObject([{ status: 'done', data: { subject: 'Draft' } }])
  expect(textIn(log)).toBe('')
})

test('asks in the mode optional, if the model decides so', async () => {
  const { model } = recordingModel(({ lastText }) =>
    lastText.includes('The person answered') ? second : first({ decision: 'interrupt' }),
  )
  const paused = await runNode(() =>
    useReason({ model, input: 'x', outputSchema: email, interrupt: { mode: 'optional', requestSchema: question } }),
  )
  expect(paused.result.status).toBe('paused')
  expect((await answerInterrupt(paused, 'warm')).returned).toMatchObject({
    output: { subject: 'Final' },
    interruptResponse: 'warm',
  })
})

test.each([
  ['no decision', 'optional', {}, 'decision: expected continue or interrupt'],
  [
    'a question although it decides to continue',
    'optional',
    { decision: 'continue' },
    'interruptRequest: expected none',
  ],
  ['an invalid request', 'required', { interruptRequest: { kind: 'choice' } }, 'interruptRequest'],
  [
    'two options with one id',
    'required',
    { interruptRequest: { ...request, options: [request.options[0], request.options[0]] } },
    'a unique id',
  ],
  ['no object', 'required', [], 'expected an object'],
] as const)('asks again after a first answer with %s', async (_what, mode, more, problem) => {
  const wrong = Array.isArray(more) ? { text: '[]' } : first(more)
  const { model, modelCalls } = recordingModel(({ answers }) =>
    answers === 0 ? wrong : first({ ...(mode === 'optional' && { decision: 'interrupt' }) }),
  )
  const paused = await runNode(() =>
    useReason({ model, input: 'x', outputSchema: email, interrupt: { mode, requestSchema: question } }),
  )
  expect(paused.result.status).toBe('paused')
  expect(modelCalls).toHaveLength(2)
  expect(JSON.stringify(modelCalls[1]?.prompt)).toContain(problem)
})

test('asks again after an invalid response without calling the model again', async () => {
  const { model, modelCalls } = recordingModel(({ lastText }) =>
    lastText.includes('The person answered')
      ? second
      : first({ interruptRequest: { kind: 'text', question: 'How many?' } }),
  )
  const paused = await runNode(() =>
    useReason({
      model,
      input: 'x',
      outputSchema: email,
      interrupt: { requestSchema: z.looseObject({ kind: z.string() }), responseSchema: z.string().regex(/^\d+$/) },
    }),
  )
  const again = await answerInterrupt(paused, 'many')
  expect(again.result.status).toBe('paused')
  expect(again.view.pendings).toMatchObject([{ interrupt: { meta: { problem: expect.any(String) } } }])
  const { returned } = await answerInterrupt(again, '12')
  expect(returned.interruptResponse).toBe('12')
  expect(modelCalls).toHaveLength(2)
})

test('asks a separate question in each pass of a loop', async () => {
  const { model, modelCalls } = recordingModel(({ options, lastText }) => {
    const n = /pass (\d)/.exec(JSON.stringify(options.prompt))?.[1]
    if (lastText.includes('The person answered')) return { text: `said ${n}` }
    return { text: JSON.stringify({ draftText: '', interruptRequest: { kind: 'text', question: `q${n}` } }) }
  })
  let nodeRun = await runNode(async () => {
    const returned: unknown[] = []
    for (let n = 1; n <= 3; n++) {
      const { text, interruptResponse } = await useReason({
        id: 'same',
        model,
        input: `pass ${n}`,
        interrupt: { requestSchema: z.object({ kind: z.literal('text'), question: z.string() }) },
      })
      returned.push([text, interruptResponse])
    }
    return returned
  })
  const questions: unknown[] = []
  for (let n = 1; n <= 3; n++) {
    const [pending] = nodeRun.view.pendings
    questions.push(
      pending?.kind === 'interrupt' ? (pending.interrupt.input as { question: string }).question : undefined,
    )
    nodeRun = await answerInterrupt(nodeRun, `a${n}`)
  }
  expect(questions).toEqual(['q1', 'q2', 'q3'])
  expect(nodeRun.returned).toEqual([1, 2, 3].map(n => [`said ${n}`, `a${n}`]))
  expect(modelCalls).toHaveLength(6)
})

test('neither repeats nor shows again a call before an interrupt on replay', async () => {
  const { model, modelCalls } = recordingModel([{ text: 'plain words', usage: { input: 5, output: 2 } }])
  const paused = await runNode(async () => {
    const { text, usage } = await useReason({ model, input: 'x' })
    const answer = await useInterrupt({ request: { kind: 'text' } })
    return { text, usage, answer }
  })
  const { returned, log, view } = await answerInterrupt(paused, 'go')
  expect(returned).toMatchObject({ text: 'plain words', answer: 'go', usage: { inputTokens: 5 } })
  expect(modelCalls).toHaveLength(1)
  expect(textIn(log)).toBe('plain words')
  expect(view.runs[0]?.usage).toMatchObject({ inputTokens: 5, outputTokens: 2 })
})

test('sends the calls of the first pass to the model in the second', async () => {
  const ran: string[] = []
  const look = tool({
    name: 'look',
    inputSchema: z.object({ at: z.string() }),
    execute: ({ at }) => {
      ran.push(at)
      return `seen ${at}`
    },
  })
  const { model, modelCalls } = recordingModel(({ options, lastText }) => {
    const results = options.prompt.filter(({ role }) => role === 'tool').length
    if (lastText.includes('The person answered')) {
      return results === 1 ? { calls: [{ name: 'look', input: { at: 'b' }, id: 'c2' }] } : second
    }
    return results === 0 ? { calls: [{ name: 'look', input: { at: 'a' }, id: 'c1' }] } : first()
  })
  const paused = await runNode(() =>
    useReason({
      model,
      input: 'x',
      tools: [look],
      outputSchema: email,
      structured: { fields },
      interrupt: { requestSchema: question },
    }),
  )
  expect(paused.result.status).toBe('paused')
  expect(ran).toEqual(['a'])
  const { returned } = await answerInterrupt(paused, 'dry')
  expect(ran).toEqual(['a', 'b'])
  expect(returned).toMatchObject({ output: { subject: 'Final' }, interruptResponse: 'dry' })
  expect(returned.toolResults.map(({ output }) => output)).toEqual(['seen a', 'seen b'])
  expect(modelCalls).toHaveLength(4)
  expect(JSON.stringify(modelCalls[2]?.prompt)).toContain('seen a')
})

test('withdraws the draft if the second pass fails', async () => {
  const { model } = recordingModel(({ lastText }) =>
    lastText.includes('The person answered') ? { text: '{"subject":7}' } : first(),
  )
  const paused = await runNode(() =>
    useReason({
      model,
      input: 'x',
      outputSchema: email,
      structured: { fields },
      interrupt: { requestSchema: question },
      maxRetries: 1,
    }).catch((error: unknown) => error),
  )
  const { returned, view } = await answerInterrupt(paused, 'dry')
  expect(returned).toMatchObject({ code: 'output_invalid' })
  expect(view.structured).toEqual([])
})

test('shows only the interrupt with emit: false', async () => {
  const { model } = recordingModel(({ lastText }) => (lastText.includes('The person answered') ? second : first()))
  const paused = await runNode(() =>
    useReason({
      model,
      input: 'x',
      emit: false,
      outputSchema: email,
      structured: { fields },
      interrupt: { requestSchema: question },
    }),
  )
  const { returned, log } = await answerInterrupt(paused, 'dry')
  expect(returned).toMatchObject({ output: { subject: 'Final' }, interruptResponse: 'dry' })
  expect(structuredIn(log)).toEqual([])
  const seen = JSON.stringify(log.filter(({ internal }) => !internal))
  expect(seen).toContain('Which tone?')
  expect(seen).not.toMatch(/Dear Ann|Final/)
})

test('merges provider metadata of both passes', async () => {
  const finish = (metadata: Record<string, string>): NonNullable<ScriptedAnswer['parts']> => [
    {
      type: 'finish',
      usage: {
        inputTokens: { total: 1, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
        outputTokens: { total: 1, text: undefined, reasoning: undefined },
      },
      finishReason: { unified: 'stop', raw: undefined },
      providerMetadata: { acme: metadata, [`of-${metadata['last']}`]: {} },
    },
  ]
  const { model } = recordingModel(({ lastText }) =>
    lastText.includes('The person answered')
      ? { ...second, parts: finish({ last: 'second' }) }
      : { ...first(), parts: finish({ last: 'first', id: '1' }) },
  )
  const paused = await runNode(() =>
    useReason({ model, input: 'x', outputSchema: email, interrupt: { requestSchema: question } }),
  )
  const { returned } = await answerInterrupt(paused, 'dry')
  expect(returned.providerMetadata).toEqual({ acme: { last: 'second', id: '1' }, 'of-first': {}, 'of-second': {} })
})

test('embeds a recursive schema with descriptions in the first pass', async () => {
  const Tree = z
    .object({
      name: z.string(),
      get kids() {
        return z.array(Tree)
      },
    })
    .describe('A family')
  const output = { name: 'a', kids: [{ name: 'b', kids: [] }] }
  const { model, modelCalls } = recordingModel([{ text: JSON.stringify({ output, interruptRequest: request }) }])
  await runNode(() => useReason({ model, input: 'x', outputSchema: Tree, interrupt: { requestSchema: question } }))
  const [{ responseFormat }] = modelCalls as unknown as [{ responseFormat: { schema: object } }]
  const { schema } = responseFormat
  const checks = formChecks()
  expect(await formResponseProblem(schema, { output, interruptRequest: request }, checks)).toBeUndefined()
  const wrong = { output: { ...output, kids: [{ name: 1 }] }, interruptRequest: request }
  expect(await formResponseProblem(schema, wrong, checks)).toBeDefined()
  expect(JSON.stringify(schema)).toContain('"A family"')
})

// Failed calls, and nodes that fail after a call.

import { expect, test } from 'vitest'
import { z } from 'zod'
import { gate } from '../../api/test-runtime.fixture.ts'
import { tool } from '../../define/tool.ts'
import { type ScriptedAnswer, scriptedModel } from '../../model/scripted-model.ts'
import { recordingModel } from '../agent/run-to-end.fixture.ts'
import { single, WorkflowTestRun } from '../workflow/workflow-test-run.fixture.ts'
import { publicOf, runNode, textIn } from './reason.fixture.ts'
import { useReason } from './use-reason.ts'

const email = z.object({ subject: z.string() })
const question = z.object({ kind: z.literal('text'), question: z.string() })
const reset = () => Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' })

test('aborts a running tool, continues the node and settles the call at the end', async () => {
  const begun = gate()
  let isTold = false
  const slow = tool({
    name: 'slow',
    inputSchema: z.object({}),
    execute: (_, { abortSignal }) => {
      begun.open()
      return new Promise((_resolve, reject) => {
        abortSignal.addEventListener('abort', () => {
          isTold = true
          reject(abortSignal.reason)
        })
      })
    },
  })
  const { returned, view, result } = await runNode(async () => {
    const controller = new AbortController()
    void begun.opened.then(() => controller.abort())
    const model = scriptedModel([{ calls: [{ name: 'slow', input: {}, id: 'c1' }] }, { text: 'never' }])
    const options = { model, input: 'x', tools: [slow], abortSignal: controller.signal } as const
    const error = await useReason(options).catch((why: unknown) => why)
    const { text } = await useReason({ model: scriptedModel([{ text: 'after' }]), input: 'x' })
    return { error, text }
  })
  expect(returned).toMatchObject({ error: { code: 'hook_aborted' }, text: 'after' })
  expect(isTold).toBe(true)
  expect(result.status).toBe('completed')
  const calls = view.messages.flatMap(({ parts }) => parts.filter(part => 'toolCallId' in part))
  expect(calls).toMatchObject([{ toolCallId: 'c1', state: 'output-error' }])
})

test('neither asks nor calls the model again when a node is retried after an interrupt', async () => {
  const { model, modelCalls } = recordingModel(({ lastText }) =>
    lastText.includes('The person answered')
      ? { text: '{"subject":"Final"}' }
      : {
          text: JSON.stringify({ output: { subject: 'Draft' }, interruptRequest: { kind: 'text', question: 'Tone?' } }),
        },
  )
  let tries = 0
  const testWorkflow = single({
    retry: { attempts: 2 },
    run: async () => {
      const { output, interruptResponse } = await useReason({
        model,
        input: 'x',
        outputSchema: email,
        structured: { fields: { subject: 'set' } },
        interrupt: { requestSchema: question },
      })
      if (++tries === 1) throw new Error('not yet')
      return { data: { ...output, said: interruptResponse ?? null } }
    },
  })
  const testRun = await WorkflowTestRun.start(testWorkflow)
  const { pendings } = await testRun.result()
  await testRun.runtime.answer('s', { kind: 'interrupt', id: pendings[0]?.id ?? '', response: 'dry' })
  expect(await testRun.result()).toMatchObject({ status: 'completed', output: { subject: 'Final', said: 'dry' } })
  expect([tries, modelCalls.length]).toEqual([2, 2])
  await testRun.log()
})

test('repeats only the failed call when a node is retried', async () => {
  let failures = 0
  const ran: string[] = []
  const look = tool({
    name: 'look',
    inputSchema: z.object({}),
    execute: (_, { toolCallId }) => {
      ran.push(toolCallId)
      return 'seen'
    },
  })
  const { model, modelCalls } = recordingModel(({ options, lastText }): ScriptedAnswer => {
    if (lastText.includes('The person answered')) {
      return ++failures <= 2 ? { text: 'half', error: reset() } : { text: '{"subject":"Final"}' }
    }
    if (!options.prompt.some(({ role }) => role === 'tool')) return { calls: [{ name: 'look', input: {}, id: 'c1' }] }
    return {
      text: JSON.stringify({ output: { subject: 'Draft' }, interruptRequest: { kind: 'text', question: 'Tone?' } }),
    }
  })
  const testWorkflow = single({
    retry: { attempts: 3 },
    run: async () => {
      const { output } = await useReason({
        model,
        input: 'x',
        tools: [look],
        maxRetries: 0,
        outputSchema: email,
        structured: { fields: { subject: 'set' } },
        interrupt: { requestSchema: question },
      })
      return { data: output }
    },
  })
  const testRun = await WorkflowTestRun.start(testWorkflow)
  const { pendings } = await testRun.result()
  await testRun.runtime.answer('s', { kind: 'interrupt', id: pendings[0]?.id ?? '', response: 'dry' })
  expect(await testRun.result()).toMatchObject({ status: 'completed', output: { subject: 'Final' } })
  expect([ran, modelCalls.length]).toEqual([['c1'], 5])
  expect((await testRun.view()).structured).toMatchObject([{ status: 'done', data: { subject: 'Final' } }])
  await testRun.log()
})

test('discards text and reasoning of a failed attempt', async () => {
  const look = tool({ name: 'look', inputSchema: z.object({}), execute: () => 'seen' })
  let calls = 0
  const { model, modelCalls } = recordingModel(({ options }): ScriptedAnswer => {
    if (options.prompt.some(({ role }) => role === 'tool')) return { text: 'Done.' }
    if (++calls === 1) return { reasoning: 'lost thought', text: 'lost words', error: reset() }
    return { reasoning: 'kept thought', text: 'kept words', calls: [{ name: 'look', input: {}, id: 'c1' }] }
  })
  const { returned, view } = await runNode(() =>
    useReason({ model, input: 'x', tools: [look], reasoning: { includeThoughts: false } }),
  )
  expect(returned.text).toBe('Done.')
  const last = JSON.stringify(modelCalls.at(-1)?.prompt)
  expect(last).toContain('kept thought')
  expect(last).not.toContain('lost')
  expect(JSON.stringify(view.messages)).not.toMatch(/lost|thought/)
})

test('lets the node catch a final failure', async () => {
  const model = scriptedModel(() => ({ text: 'half', error: new Error('no more') }))
  const { returned, log, view } = await runNode(() =>
    useReason({ model, input: 'x', maxRetries: 0 }).catch(() => 'caught'),
  )
  expect(returned).toBe('caught')
  expect(view.messages.at(-1)?.parts.filter(({ type }) => type === 'text')).toEqual([])
  expect(JSON.stringify(publicOf(log).filter(({ chunk }) => chunk.type === 'error'))).toBe('[]')
  expect(textIn(log)).toBe('half')
})

test.each(['中'.repeat(64), '\u{1F600}'.repeat(32), 'a/b:c.1', '__proto__', ' '])(
  'an id may be any text: %j',
  async id => {
    const guarded = tool({ name: 'look', inputSchema: z.object({}), execute: () => 'seen' })
    const { returned, view } = await runNode(() =>
      useReason({
        id,
        model: scriptedModel([{ calls: [{ name: 'look', input: {} }] }, { text: '{"subject":"S"}' }]),
        input: 'x',
        tools: [guarded],
        outputSchema: email,
        structured: { fields: { subject: 'set' } },
      }),
    )
    expect(returned.output).toEqual({ subject: 'S' })
    expect(view.structured).toMatchObject([{ status: 'done', id }])
  },
)

test('applies responseFormat to the answer, not to the first pass', async () => {
  const { model, modelCalls } = recordingModel(({ lastText }) =>
    lastText.includes('The person answered')
      ? { text: '{"subject":"Final"}' }
      : {
          text: JSON.stringify({ output: { subject: 'Draft' }, interruptRequest: { kind: 'text', question: 'Tone?' } }),
        },
  )
  const testWorkflow = single(async () => {
    const { output } = await useReason({
      model,
      input: 'x',
      outputSchema: email,
      responseFormat: { type: 'json', name: 'mine', schema: { type: 'object' } },
      interrupt: { requestSchema: question },
    })
    return { data: output }
  })
  const testRun = await WorkflowTestRun.start(testWorkflow)
  const { pendings } = await testRun.result()
  await testRun.runtime.answer('s', { kind: 'interrupt', id: pendings[0]?.id ?? '', response: 'dry' })
  await testRun.result()
  expect(modelCalls.map(({ responseFormat }) => responseFormat)).toMatchObject([
    { schema: { required: ['output', 'interruptRequest'] } },
    { name: 'mine' },
  ])
})

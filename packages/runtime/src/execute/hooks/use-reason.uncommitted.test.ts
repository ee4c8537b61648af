// Results of an attempt of a node that are not committed: the next attempt does not see them, but their usage counts.

import { type LogStore, memoryStore } from '@millrace/log'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { gate } from '../../api/test-runtime.fixture.ts'
import type { NodeContext } from '../../define/node.ts'
import { tool } from '../../define/tool.ts'
import { scriptedModel } from '../../model/scripted-model.ts'
import type { Schema } from '../../schema/schema.ts'
import { recordingModel } from '../agent/run-to-end.fixture.ts'
import { single, WorkflowTestRun } from '../workflow/workflow-test-run.fixture.ts'
import { useReason } from './use-reason.ts'
import { useStep } from './use-step.ts'

const usage = { input: 10, output: 5 }
const inputsOf = ({ inputTokens }: { readonly inputTokens?: number } = {}): number => inputTokens ?? 0

/** A schema that calls back when it is used. */
function seen(schema: z.ZodType, look: () => void): Schema {
  return {
    get '~standard'() {
      look()
      return schema['~standard']
    },
  } as Schema
}

/** A store whose appends can be held. */
function holding() {
  const inner = memoryStore()
  let held: Promise<void> | undefined
  const append: LogStore['append'] = async (...returned) => {
    await held
    return inner.append(...returned)
  }
  const store = new Proxy(inner, {
    get(target, name) {
      if (name === 'append') return append
      const value = Reflect.get(target, name) as unknown
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  return { store, hold: (until: Promise<void>) => (held = until) }
}

test('law 3: does not reuse a first pass whose commit failed: the person answers the logged request', async () => {
  const { store, hold } = holding()
  const asks = gate()
  const over = gate()
  const fails = gate()
  let tries = 0
  let isAnswered = false
  const { model, modelCalls } = recordingModel(({ lastText }) =>
    lastText.includes('The person answered')
      ? { text: '{"subject":"Final"}', usage }
      : {
          text: JSON.stringify({
            output: { subject: 'Draft' },
            interruptRequest: { kind: 'text', question: `Question ${modelCalls.length}` },
          }),
          usage,
        },
  )
  const requestSchema = seen(z.object({ kind: z.literal('text'), question: z.string() }), () => {
    // Evaluated when the response is there.
    if (tries !== 1 || modelCalls.length === 0 || isAnswered) return
    isAnswered = true
    hold(over.opened)
    asks.open()
  })
  // Evaluated when the interrupt is requested, after the first pass.
  const responseSchema = seen(z.string(), () => isAnswered && fails.open())
  const testWorkflow = single({
    retry: { attempts: 2 },
    run: async ({ abortSignal }: NodeContext) => {
      const isFirst = ++tries === 1
      if (isFirst) abortSignal.addEventListener('abort', () => over.open())
      const [result] = await Promise.all([
        useReason({
          id: 'ask',
          model,
          input: 'x',
          outputSchema: z.object({ subject: z.string() }),
          interrupt: { requestSchema, responseSchema },
        }),
        // Its commit is in flight when the interrupt is requested, so the interrupt waits.
        useStep('slow', () => (isFirst ? asks.opened : undefined)),
        isFirst && fails.opened.then(() => Promise.reject(new Error('the node fails'))),
      ])
      return { data: [result.interruptResponse as string, inputsOf(result.usage)] }
    },
  })
  const testRun = await WorkflowTestRun.start(testWorkflow, { open: () => store })
  const paused = await testRun.result()
  expect([tries, paused.status, modelCalls.length]).toEqual([2, 'paused', 2])
  expect(paused.pendings).toMatchObject([{ interrupt: { input: { question: 'Question 2' } } }])
  const hooks = (await testRun.log()).flatMap(({ chunk }) => (chunk.type === 'hook-completed' ? [chunk.hookId] : []))
  expect(hooks).toContain('1.node.1/useReason:ask.1/first')
  await testRun.restart()
  await testRun.answer('1.node.1/useReason:ask.1', 'yes')
  const { output, usage: used } = await testRun.result()
  expect(output).toEqual(['yes', 20])
  expect(modelCalls).toHaveLength(3)
  expect(JSON.stringify(modelCalls[2]?.prompt)).toMatch(/The person was asked: .*Question 2.*answered: yes/)
  expect(inputsOf(used)).toBe(30)
  const discarded = (await testRun.view()).runs[0]?.discarded
  expect(inputsOf(discarded)).toBe(10)
  await testRun.log()
})

test('does not count a model call whose commit failed as a step', async () => {
  const controller = new AbortController()
  let tries = 0
  const testWorkflow = single({
    retry: { attempts: 2 },
    run: async () => {
      tries++
      const look = tool({
        name: 'look',
        inputSchema: z.object({}),
        // Called just before the commit.
        approval: () => {
          if (tries === 1) controller.abort()
          return false
        },
        execute: () => 'seen',
      })
      const model = scriptedModel(({ options }) =>
        options.prompt.some(({ role }) => role === 'tool')
          ? { text: 'end', usage }
          : { calls: [{ name: 'look', input: {} }], usage },
      )
      const abortSignal = tries === 1 ? controller.signal : new AbortController().signal
      const { steps, usage: used } = await useReason({ model, input: 'x', tools: [look], abortSignal })
      return { data: [steps.length, inputsOf(used)] }
    },
  })
  const testRun = await WorkflowTestRun.start(testWorkflow)
  const { output, usage: used } = await testRun.result()
  expect([tries, output]).toEqual([2, [2, 20]])
  expect(inputsOf(used)).toBe(30)
  const discarded = (await testRun.view()).runs[0]?.discarded
  expect(inputsOf(discarded)).toBe(10)
  await testRun.log()
})

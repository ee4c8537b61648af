// A failed call leaves nothing behind, whatever its node does next.

import { expect, test } from 'vitest'
import { z } from 'zod'
import { gate } from '../../api/test-runtime.fixture.ts'
import { tool } from '../../define/tool.ts'
import { scriptedModel } from '../../model/scripted-model.ts'
import { reportsOf } from '../agent/run-to-end.fixture.ts'
import { publicOf, sequence, single, textInterrupt, WorkflowTestRun } from '../workflow/workflow-test-run.fixture.ts'
import { useInterrupt } from './use-interrupt.ts'
import { useReason } from './use-reason.ts'

const none = z.object({})
const danger = tool({ name: 'danger', inputSchema: none, approval: true, execute: () => 'done' })
const where = tool({ name: 'where', inputSchema: none, client: true })
const slow = tool({
  name: 'slow',
  inputSchema: none,
  execute: async (_, { emit, abortSignal }) => {
    await emit('progress', { done: 1 })
    return new Promise((_resolve, reject) => abortSignal.addEventListener('abort', () => reject(abortSignal.reason)))
  },
})
const asker = sequence(
  { ask: async () => ({ data: await useInterrupt(textInterrupt('Which?')) }) },
  { id: 'asker', version: '1' },
)

test('settles requests, stops sub-agents and withdraws shown text after an abort', async () => {
  const controller = new AbortController()
  const calls = ['danger', 'where', 'slow', 'asker'].map(name => ({
    name,
    id: name,
    input: name === 'asker' ? { prompt: 'x' } : {},
  }))
  const testWorkflow = single(async () => {
    const model = scriptedModel([{ calls }, { text: 'never' }])
    const options = {
      model,
      input: 'x',
      tools: [danger, where, slow],
      subAgents: [asker],
      abortSignal: controller.signal,
    }
    const code = await useReason(options).catch((error: { code: string }) => error.code)
    return { data: `${code} ${await useInterrupt(textInterrupt('What now?'))}` }
  })
  const testRun = await WorkflowTestRun.start(testWorkflow, { workflows: [asker] })
  const awaited = new Set(['tool-approval-request', 'interrupt', 'data-progress'])
  for await (const { chunk } of testRun.run.stream()) {
    awaited.delete(chunk.type)
    if (awaited.size === 0) break
  }
  controller.abort()
  expect(await testRun.questionIds()).toEqual(['1.node.1/@.2'])
  const { pendings, agents, messages, drafts } = await testRun.view()
  expect(pendings).toMatchObject([{ kind: 'interrupt', interrupt: { input: { question: 'What now?' } } }])
  expect(agents).toMatchObject([{ status: 'interrupted' }])
  expect(drafts).toEqual([])
  const parts = messages.flatMap(message => message.parts)
  expect(parts.filter(part => 'toolCallId' in part)).toMatchObject(
    calls.map(({ id }) => ({ toolCallId: id, state: 'output-error', code: 'interrupted' })),
  )
  expect(parts.filter(({ type }) => type === 'data-progress')).toEqual([])
  await testRun.restart()
  await testRun.answer('1.node.1/@.2', 'on')
  expect(await testRun.result()).toMatchObject({ status: 'completed', output: 'hook_aborted on' })
  await testRun.log()
})

test('does not abort a waiting call: the response counts', async () => {
  const controllers: AbortController[] = []
  const testWorkflow = single(async () => {
    const controller = new AbortController()
    controllers.push(controller)
    const model = scriptedModel([{ calls: [{ name: 'danger', input: {}, id: 'c1' }] }, { text: 'after' }])
    const { text } = await useReason({ model, input: 'x', tools: [danger], abortSignal: controller.signal })
    return { data: text }
  })
  const testRun = await WorkflowTestRun.start(testWorkflow)
  expect((await testRun.result()).status).toBe('paused')
  controllers[0]?.abort()
  await testRun.runtime.answer('s', { kind: 'approval', id: 'r::c1', approved: true })
  expect(await testRun.result()).toMatchObject({ status: 'completed', output: 'after' })
  expect(controllers).toHaveLength(2)
})

test('law 10: an aborted internal call writes no public end', async () => {
  const controller = new AbortController()
  const begun = gate()
  const hidden = tool({
    name: 'hidden',
    inputSchema: none,
    execute: () => {
      begun.open()
      return new Promise(() => {})
    },
  })
  void begun.opened.then(() => controller.abort())
  const testWorkflow = single(async () => {
    const model = scriptedModel([{ calls: [{ name: 'hidden', input: {}, id: 'c1' }] }, { text: 'never' }])
    const options = { model, input: 'x', emit: false, tools: [hidden], abortSignal: controller.signal }
    return { data: await useReason(options).catch((error: { code: string }) => error.code) }
  })
  const testRun = await WorkflowTestRun.start(testWorkflow)
  expect(await testRun.result()).toMatchObject({ status: 'completed', output: 'hook_aborted' })
  const log = await testRun.log()
  expect(log.map(({ chunk }) => chunk.type)).toContain('tool-output-error')
  expect(reportsOf(publicOf(log))).toEqual([])
  expect(publicOf(log).map(({ chunk }) => chunk.type)).not.toContain('tool-output-error')
})

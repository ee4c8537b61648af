// Spans of workflows: one for the run, each node and each hook with work.

import { expect, test } from 'vitest'
import { z } from 'zod'
import { call, counted, scripted, startRun, subAgentCall } from '../api/pendings.fixture.ts'
import type { Agent } from '../define/agent.ts'
import type { NodeContext } from '../define/node.ts'
import { tool } from '../define/tool.ts'
import { useInterrupt } from '../execute/hooks/use-interrupt.ts'
import { useReason } from '../execute/hooks/use-reason.ts'
import { useStep } from '../execute/hooks/use-step.ts'
import {
  sequence,
  single,
  textInterrupt,
  WorkflowTestRun,
  wired,
} from '../execute/workflow/workflow-test-run.fixture.ts'
import { scriptedModel } from '../model/scripted-model.ts'
import { collector, registerContextManager, spanOf, textOf, treeOf } from './collector.fixture.ts'

const used = { usage: { input: 3, output: 2 } }

test('nests the spans of a run, its nodes, hooks and their agents', async () => {
  registerContextManager()
  const collected = collector()
  const { tool: count } = counted('count')
  const { agent: child } = scripted('child', [{ text: 'ok', ...used }])
  const { agent: writer } = scripted(
    'writer',
    [
      { calls: [call('count', 'k1', { n: 1 }), subAgentCall('child', 'k2')], ...used },
      { text: 'Written.', ...used },
    ],
    { tools: [count], subAgents: [child] },
  )
  const inner = single(async () => ({ data: await useStep('inner', () => 'in') }), { id: 'inner' })
  const model = scriptedModel([
    { calls: [subAgentCall('inner', 'c1')], ...used },
    { text: 'Said.', ...used },
  ])
  const testWorkflow = sequence({
    think: async () => {
      const key = await useStep('find', () => {
        collected.tracerProvider.getTracer('own').startSpan('GET').end()
        return 'secret key'
      })
      const { text } = await useReason({ id: 'secret id', model, input: key, subAgents: [inner] })
      return { data: text }
    },
    write: writer as Agent,
  })
  const play = await WorkflowTestRun.start(testWorkflow, { options: { telemetry: collected } })
  expect(await play.result()).toMatchObject({ status: 'completed', output: 'Written.' })
  await play.runtime.close()
  const spans = collected.spans()
  expect(treeOf(spans)).toEqual({
    'invoke_workflow own': {
      'node think': {
        useStep: { GET: {} },
        useReason: {
          'step 1': {
            'chat scripted': {},
            'execute_tool inner': { 'invoke_workflow inner': { 'node node': { useStep: {} } } },
          },
          'step 2': { 'chat scripted': {} },
        },
      },
      'node write': {
        'invoke_agent writer': {
          'step 1': {
            'chat scripted': {},
            'execute_tool count': {},
            'execute_tool child': { 'invoke_agent child': { 'step 1': { 'chat scripted': {} } } },
          },
          'step 2': { 'chat scripted': {} },
        },
      },
    },
  })
  expect(spanOf(spans, 'invoke_workflow own').attributes).toMatchObject({
    'gen_ai.operation.name': 'invoke_workflow',
    'gen_ai.workflow.name': 'own',
    'millrace.program': 'workflow:own@1',
    'millrace.status': 'completed',
    // The model calls of its hooks, without those of sub-agents.
    'gen_ai.usage.input_tokens': 12,
    'gen_ai.usage.output_tokens': 8,
  })
  expect(spanOf(spans, 'node think').attributes).toMatchObject({
    'millrace.node': 'think',
    'millrace.step': 1,
    'millrace.attempt': 1,
    'millrace.status': 'completed',
  })
  expect(spanOf(spans, 'useReason').attributes).toMatchObject({
    'millrace.hook': 'useReason',
    'gen_ai.request.model': 'scripted',
    'gen_ai.usage.input_tokens': 6,
  })
  expect(spanOf(spans, 'invoke_agent writer').attributes).toMatchObject({
    'gen_ai.agent.name': 'writer',
    'gen_ai.agent.version': '1',
    'gen_ai.usage.input_tokens': 6,
  })
  expect(textOf(spans)).not.toContain('secret')
})

test('records a waiting hook once as paused, and no span for a replayed hook', async () => {
  const collected = collector()
  const testWorkflow = single(async () => {
    await useStep('once', () => 1)
    return { data: await useInterrupt(textInterrupt('Well?', { id: 'well' })) }
  })
  const play = await WorkflowTestRun.start(testWorkflow, { options: { telemetry: collected } })
  expect(await play.result()).toMatchObject({ status: 'paused' })
  await play.answer('1.node.1/useInterrupt:well.1', 'so')
  expect(await play.result()).toMatchObject({ status: 'completed' })
  await play.runtime.close()
  const spans = collected.spans()
  expect(treeOf(spans)).toEqual({
    'invoke_workflow own': { 'node node': { useStep: {}, useInterrupt: {} } },
    'invoke_workflow own (2)': { 'node node': { useInterrupt: {} } },
  })
  expect(spans.map(({ name, attributes, status }) => [name, attributes['millrace.status'], status.code])).toEqual([
    ['invoke_workflow own', 'paused', 0],
    ['node node', 'paused', 0],
    ['useStep', 'completed', 0],
    ['useInterrupt', 'paused', 0],
    ['invoke_workflow own', 'completed', 0],
    ['node node', 'completed', 0],
    ['useInterrupt', 'completed', 0],
  ])
})

test('records each failed attempt with its error code, and its message with content: true', async () => {
  for (const content of [false, true]) {
    const collected = collector()
    let tries = 0
    const testWorkflow = single({
      run: async () => {
        await useStep('tries', () => {
          if (++tries === 1) throw new Error('secret words')
        })
      },
      retry: { attempts: 2, backoff: { firstMs: 1 } },
    })
    const play = await WorkflowTestRun.start(testWorkflow, { options: { telemetry: { ...collected, content } } })
    expect(await play.result()).toMatchObject({ status: 'completed' })
    await play.runtime.close()
    const nodes = collected.spans().filter(({ name }) => name === 'node node')
    expect(nodes.map(({ attributes }) => [attributes['millrace.attempt'], attributes['error.type']])).toEqual([
      [1, 'workflow_node_failed'],
      [2, undefined],
    ])
    const steps = collected.spans().filter(({ name }) => name === 'useStep')
    expect(steps.map(({ attributes }) => [attributes['error.type'], attributes['millrace.hook.id']])).toEqual([
      ['hook_failed', content ? 'tries' : undefined],
      [undefined, content ? 'tries' : undefined],
    ])
    expect(textOf(collected.spans()).includes('secret')).toBe(content)
  }
})

test('records branches as siblings', async () => {
  const collected = collector()
  const node = ({ input }: NodeContext<unknown>) => ({ data: input as never })
  const testWorkflow = wired({ start1: node, a: node, b: node, join: node }, [
    ['start', 'start1'],
    ['start1', ['a', 'b'], { join: 'join' }],
    ['a', 'join'],
    ['b', 'join'],
    ['join', 'end'],
  ])
  const play = await WorkflowTestRun.start(testWorkflow, { options: { telemetry: collected } })
  expect(await play.result()).toMatchObject({ status: 'completed' })
  await play.runtime.close()
  expect(treeOf(collected.spans())).toEqual({
    'invoke_workflow own': { 'node start1': {}, 'node a': {}, 'node b': {}, 'node join': {} },
  })
})

test('records a waiting workflow once, however often its parent continues', async () => {
  const collected = collector()
  const asking = single(async () => ({ data: await useInterrupt(textInterrupt('Well?')) }), { id: 'asking' })
  const slow = tool({ name: 'slow', inputSchema: z.object({}), approval: true, execute: () => 'ok' })
  const { agent: testAgent } = scripted(
    'parent',
    [{ calls: [subAgentCall('asking', 'c1'), call('slow', 'c2')] }, { text: 'Done.' }],
    {
      subAgents: [asking],
      tools: [slow],
    },
  )
  const { runtime, run } = await startRun(testAgent, { telemetry: collected })
  const { pendings } = await run.result()
  for (const { kind, id } of pendings) {
    if (kind === 'interrupt') await runtime.answer('s', { kind, id, response: 'so' })
    else await runtime.answer('s', { kind: 'approval', id, approved: true })
  }
  expect(await runtime.run('s', 'r').result()).toMatchObject({ status: 'completed' })
  await runtime.close()
  const flows = collected.spans().filter(({ name }) => name === 'invoke_workflow asking')
  expect(flows.map(({ attributes }) => attributes['millrace.status'])).toEqual(['paused', 'completed'])
})

// Spans that user code starts in a run are children of the span that the code runs for.

import { trace } from '@opentelemetry/api'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { testRuntime } from '../api/test-runtime.fixture.ts'
import { agent } from '../define/agent.ts'
import { tool } from '../define/tool.ts'
import { type ScriptedAnswer, scriptedModel } from '../model/scripted-model.ts'
import { collector, registerContextManager, registerGlobally, treeOf } from './collector.fixture.ts'

/** A span of the application's own, after something was awaited. */
async function spanInContext(name: string): Promise<string> {
  await new Promise(resolve => setImmediate(resolve))
  trace.getTracer('app').startSpan(name).end()
  return name
}

/** A model whose provider's code is instrumented. */
function instrumented(answers: readonly ScriptedAnswer[]): ReturnType<typeof scriptedModel> {
  const inner = scriptedModel(answers)
  return {
    ...inner,
    async doStream(options) {
      await spanInContext('POST /v1/messages')
      return inner.doStream(options)
    },
  }
}

test('nests the spans of models, tools, agents, sub-agents and application code', async () => {
  registerContextManager()
  const collected = collector()
  registerGlobally(collected)
  const fetching = tool({
    name: 'fetching',
    inputSchema: z.object({}),
    async *execute() {
      await spanInContext('before the yield')
      yield 1
      await spanInContext('after the yield')
    },
  })
  const child = agent({
    name: 'child',
    model: instrumented([{ text: 'I helped.' }]),
    instructions: () => spanInContext('SELECT for the child'),
  })
  const calls = [
    { name: 'fetching', input: {} },
    { name: 'child', input: { prompt: 'help' } },
  ]
  const reader = agent({
    name: 'reader',
    model: instrumented([{ calls }, { text: 'Done.' }]),
    tools: [fetching],
    subAgents: [child],
    instructions: () => spanInContext('SELECT'),
  })
  const runtime = testRuntime({
    agents: [reader],
    async resolveContext() {
      await spanInContext('SELECT context')
      return {}
    },
  })
  await (await runtime.start({ agent: reader, input: 'go' })).result()
  await runtime.close()
  const expectedTree = { 'chat scripted': { 'POST /v1/messages': {} } }
  expect(treeOf(collected.spans())).toEqual({
    'invoke_agent reader': {
      'SELECT context': {},
      SELECT: {},
      'step 1': {
        ...expectedTree,
        'execute_tool fetching': { 'before the yield': {}, 'after the yield': {} },
        'execute_tool child': { 'invoke_agent child': { 'SELECT for the child': {}, 'step 1': expectedTree } },
      },
      'SELECT (2)': {},
      'step 2': expectedTree,
    },
  })
})

// Every chunk type of the catalogue is written by one of the runs below.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { Memory, memoryStore, StreamManager, systemTimers } from '@millrace/log'
import { catalogue } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Runtime } from './api/runtime.ts'
import { echo, gate, logOf, patient, testRuntime, typesOf, until } from './api/test-runtime.fixture.ts'
import { agent } from './define/agent.ts'
import type { NodeContext } from './define/node.ts'
import { tool } from './define/tool.ts'
import { workflow } from './define/workflow.ts'
import { ProviderError } from './error/error.ts'
import { useInterrupt } from './execute/hooks/use-interrupt.ts'
import { useReason } from './execute/hooks/use-reason.ts'
import { scriptedModel } from './model/scripted-model.ts'

/** The chunk types of a session's log, with all `data-*` as one. */
const writtenTypes = async (runtime: Runtime, sessionId: string): Promise<string[]> =>
  typesOf(await logOf(runtime, sessionId)).map(type => (type.startsWith('data-') ? 'data-*' : type))

/** A turn with everything that models and tools can write. */
async function toolRun(): Promise<string[]> {
  const work = tool({
    name: 'work',
    inputSchema: z.object({ fails: z.boolean() }),
    async *execute({ fails }, { emit, updateState }) {
      yield 'half way'
      emit('note', { about: 'work' })
      updateState(state => ({ ...(state as object), worked: true }))
      if (fails) throw new Error('broken')
      return 'done'
    },
  })
  const parts: LanguageModelV4StreamPart[] = [
    { type: 'response-metadata', id: 'answer-1', modelId: 'scripted' },
    { type: 'source', sourceType: 'url', id: 's1', url: 'https://example.com/' },
    { type: 'source', sourceType: 'document', id: 's2', title: 'A page', mediaType: 'text/plain' },
    { type: 'file', mediaType: 'text/plain', data: { type: 'data', data: 'aGk=' } },
  ]
  let attempts = 0
  const testAgent = agent({
    name: 'rich',
    tools: [work],
    initialState: {},
    outputSchema: z.object({ answer: z.string() }),
    model: scriptedModel(({ answers }) => {
      if (answers > 0) return { text: '{"answer":"yes"}' }
      if (attempts++ === 0) {
        return { reasoning: 'Hm', error: new ProviderError('provider_overloaded', 'too much', { retryable: true }) }
      }
      const calls = [{ fails: false }, { fails: true }, { fails: 'perhaps' }].map(input => ({ name: 'work', input }))
      return { reasoning: 'Let me think.', text: 'Let me see.', calls, parts }
    }),
  })
  const runtime = testRuntime({ agents: [testAgent] })
  const run = await runtime.start({ agent: testAgent, input: 'go', session: 's', context: { tenant: 1 } })
  expect(await run.result()).toMatchObject({ status: 'completed', output: { answer: 'yes' } })
  return writtenTypes(runtime, 's')
}

/** A run that streams, is stopped, resumed and retried. */
async function stoppedAndResumedRun(): Promise<string[]> {
  const testAgent = patient(gate())
  const runtime = testRuntime({ agents: [testAgent] })
  const first = await runtime.start({ agent: testAgent, input: 'go', session: 's', runId: 'r1' })
  await until(first, 'text-delta')
  await first.stop()
  await first.result()
  const second = await runtime.resume('s', 'r1')
  await until(second, 'text-delta')
  await until(await runtime.retry('s'), 'text-delta')
  return writtenTypes(runtime, 's')
}

/** A run with approvals, client tools and sub-agents. */
async function runWithApprovals(): Promise<string[]> {
  const pay = tool({ name: 'pay', inputSchema: z.object({}), approval: true, execute: () => 'paid' })
  const locate = tool({ name: 'locate', inputSchema: z.object({}), client: true })
  const calls = (...names: string[]) => names.map(name => ({ name, input: { prompt: 'go' }, id: name }))
  const child = agent({ name: 'child', model: scriptedModel([{ text: 'done' }]) })
  const model = scriptedModel([{ calls: calls('pay', 'locate', 'child') }, { text: 'done' }])
  const testAgent = agent({ name: 'peopled', tools: [pay, locate], subAgents: [child], model })
  const runtime = testRuntime({ agents: [testAgent] })
  const run = await runtime.start({ agent: testAgent, input: 'go', session: 's', runId: 'r' })
  await run.result()
  await runtime.describe('s', { title: 'A payment' })
  await runtime.claim('s', 'locate', { forMs: 1000 })
  await runtime.answer('s', { kind: 'tool-result', id: 'locate', output: 'Ulm' })
  await runtime.answer('s', { kind: 'approval', id: 'r::pay', approved: false })
  expect(await run.result()).toMatchObject({ status: 'completed' })
  return writtenTypes(runtime, 's')
}

/** A run whose model fails, with an observer. */
async function failedRun(): Promise<string[]> {
  const broken = agent({ name: 'broken', model: scriptedModel([{ error: new Error('no') }]), maxRetries: 0 })
  const runtime = testRuntime({ agents: [broken], observers: [{ onFinished() {} }] })
  await (await runtime.start({ agent: broken, input: 'go', session: 's' })).result()
  // Closing waits for the observers.
  await runtime.close()
  return writtenTypes(runtime, 's')
}

/** A run whose first process died, so that its lease expires. */
async function takenOverRun(): Promise<string[]> {
  let laterMs = 0
  const store = memoryStore(undefined, new Memory({ clock: () => Date.now() + laterMs }))
  const runtime = testRuntime({ store, engine: false })
  const run = await runtime.start({ agent: echo, input: 'go', session: 's', runId: 'r' })
  const timers = { ...systemTimers, after: () => () => {} }
  const dead = new StreamManager({ store, timers, leaseMs: 60_000 })
  const writer = await dead.createWriter('s', { runId: 'r', program: echo.program, agentType: 'echo' })
  await writer.begin()
  laterMs = 120_000
  testRuntime({ store, agents: [echo] })
  await run.result()
  return writtenTypes(runtime, 's')
}

/** A workflow that asks a person, invalidates an object, and transitions to another workflow. */
async function workflowRun(): Promise<string[]> {
  const look = tool({ name: 'look', inputSchema: z.object({}), execute: () => 'seen' })
  const model = scriptedModel([
    { text: '{"subject":"Hi","bo', calls: [{ name: 'look', input: {} }] },
    { text: '{"subject":"Hello","body":"Dear Ann"}' },
  ])
  const post = workflow({
    id: 'post',
    nodes: { send: async ({ input }: NodeContext<string>) => ({ data: `sent: ${input}` }) },
    edges: [
      ['start', 'send'],
      ['send', 'end'],
    ],
  })
  const letter = workflow({
    id: 'letter',
    nodes: {
      ask: async () => ({ data: await useInterrupt({ request: { kind: 'text', question: 'To whom?' } }) }),
      draft: async ({ input }: NodeContext<string>) => {
        const { output } = await useReason({
          model,
          input,
          tools: [look],
          outputSchema: z.object({ subject: z.string(), body: z.string() }),
          structured: { dataType: 'letter', fields: { subject: 'set', body: 'text-delta' } },
        })
        return { data: output.subject, transitionTo: 'post' }
      },
    },
    edges: [
      ['start', 'ask'],
      ['ask', 'draft'],
      ['draft', 'end'],
    ],
  })
  const runtime = testRuntime({ workflows: [letter, post] })
  const run = await runtime.start({ workflow: letter, input: 'go', session: 's' })
  const [question] = (await run.result()).pendings
  await runtime.answer('s', { kind: 'interrupt', id: question?.id ?? '', response: 'Ann' })
  expect(await run.result()).toMatchObject({ status: 'completed', output: 'sent: Hello' })
  return writtenTypes(runtime, 's')
}

describe('every chunk type of the catalogue', () => {
  const all = [...Object.keys(catalogue), 'data-*']
  const readme = readFileSync(join(import.meta.dirname, '../README.md'), 'utf8')
  const table = readme.slice(readme.indexOf('## What a run writes, and when')).split('\n## ')[0] ?? ''
  const rows = [...table.matchAll(/^\| (`.*?) \| (.+) \|$/gm)]
  const named = rows.flatMap(([, types = '']) => [...types.matchAll(/`([^`]+)`/g)].map(([, type]) => type as string))

  test('is written by a run, and runs write no others', async () => {
    const runs = [toolRun(), stoppedAndResumedRun(), runWithApprovals(), failedRun(), takenOverRun(), workflowRun()]
    const types = new Set((await Promise.all(runs)).flat())
    expect(
      all.filter(type => !types.has(type)),
      'write these types in one of the runs above',
    ).toEqual([])
    expect([...types].filter(type => !all.includes(type))).toEqual([])
    // Each is listed once in the README.
    expect([...named].sort(), 'list each type once in packages/runtime/README.md').toEqual([...types].sort())
  })
})

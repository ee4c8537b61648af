// Sessions in a list: the title, and the last line of text.

import { memoryStore } from '@millrace/log'
import type { Chunk } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../define/agent.ts'
import type { NodeContext } from '../define/node.ts'
import { tool } from '../define/tool.ts'
import { workflow } from '../define/workflow.ts'
import { ProviderError } from '../error/error.ts'
import { useInterrupt } from '../execute/hooks/use-interrupt.ts'
import { useReason } from '../execute/hooks/use-reason.ts'
import { scriptedModel } from '../model/scripted-model.ts'
import type { Runtime } from './runtime.ts'
import { codeOf, echo, gate, logOf, patient, testRuntime, until } from './test-runtime.fixture.ts'

const listed = async (runtime: Runtime) => {
  const { streams } = await runtime.manager.listStreams(undefined)
  const { title, line, status } = streams[0] as (typeof streams)[0]
  return [title, line, status]
}

/** The lines in pauses and ends of the session. */
async function linesOf(runtime: Runtime): Promise<(string | undefined)[]> {
  const chunks = (await logOf(runtime, 's')).map(({ chunk }) => chunk)
  const isEnd = (chunk: Chunk) => chunk.type === 'run-paused' || chunk.type === 'run-finished'
  return chunks.filter(isEnd).map(chunk => (chunk as { line?: string }).line)
}

const single = (node: (context: NodeContext<string>) => Promise<object>) =>
  workflow({
    id: 'own',
    nodes: { node },
    edges: [
      ['start', 'node'],
      ['node', 'end'],
    ],
  })

describe('the last line of a run', () => {
  test('is the last answer with text', async () => {
    const look = tool({ name: 'look', inputSchema: z.object({}), execute: () => 'seen' })
    const calls = [{ name: 'look', input: {} }]
    const texts = ['First.\n\n  Then  this. \n', ' ']
    for (const [i, text] of texts.entries()) {
      const testAgent = agent({
        name: 'own',
        tools: [look],
        model: scriptedModel([{ text: 'I look.', calls }, { text }]),
      })
      const runtime = testRuntime({ agents: [testAgent] })
      const run = await runtime.start({ agent: testAgent, input: ' Look \n there. ', session: 's' })
      await run.result()
      expect(await linesOf(runtime)).toEqual([['Then this.', 'I look.'][i]])
      expect(await listed(runtime)).toEqual([undefined, ['Then this.', 'I look.'][i], 'ended'])
    }
  })

  test('is the last part of an answer', async () => {
    const parts = [
      { type: 'text-start', id: 'b' },
      { type: 'text-delta', id: 'b', delta: 'Second ' },
      { type: 'text-delta', id: 'b', delta: 'part.' },
      { type: 'text-end', id: 'b' },
    ] as const
    const testAgent = agent({ name: 'own', model: scriptedModel([{ text: 'First part.', parts: [...parts] }]) })
    const runtime = testRuntime({ agents: [testAgent] })
    const { message } = await (await runtime.start({ agent: testAgent, input: 'go', session: 's' })).result()
    const texts = message?.parts.flatMap(part => (part.type === 'text' && 'text' in part ? [part.text] : []))
    expect(texts).toHaveLength(2)
    expect(await linesOf(runtime)).toEqual([texts?.[1]])
  })

  test('is absent without text', async () => {
    const output = z.object({ answer: z.string() })
    const testAgent = agent({ name: 'own', outputSchema: output, model: scriptedModel([{ text: '{"answer":"yes"}' }]) })
    const runtime = testRuntime({ agents: [testAgent] })
    await (await runtime.start({ agent: testAgent, input: 'Is it so?', session: 's' })).result()
    expect(await linesOf(runtime)).toEqual([undefined])
    expect(await listed(runtime)).toEqual([undefined, 'Is it so?', 'ended'])
  })

  test('is the streamed text of a stopped run', async () => {
    const testAgent = patient(gate())
    const runtime = testRuntime({ agents: [testAgent] })
    const run = await runtime.start({ agent: testAgent, input: 'go', session: 's' })
    await until(run, 'text-delta')
    await run.stop()
    expect(await run.result()).toMatchObject({ status: 'interrupted', text: 'one ' })
    expect(await linesOf(runtime)).toEqual(['one'])
  })

  test('is not the discarded text of a failed run', async () => {
    const look = tool({ name: 'look', inputSchema: z.object({}), execute: () => 'seen' })
    const model = scriptedModel([
      { text: 'I look.', calls: [{ name: 'look', input: {} }] },
      { text: 'Broken', error: new Error('no') },
    ])
    const testAgent = agent({ name: 'own', tools: [look], model, maxRetries: 0 })
    const runtime = testRuntime({ agents: [testAgent] })
    expect(await (await runtime.start({ agent: testAgent, input: 'go', session: 's' })).result()).toMatchObject({
      status: 'failed',
    })
    expect(await linesOf(runtime)).toEqual(['I look.'])
  })

  test('is the text before the request of a paused run', async () => {
    const pay = tool({ name: 'pay', inputSchema: z.object({}), approval: true, execute: () => 'paid' })
    const calls = [{ name: 'pay', input: {}, id: 'c' }]
    const testAgent = agent({
      name: 'own',
      tools: [pay],
      model: scriptedModel([{ text: 'May I?', calls }, { text: 'Done.' }]),
    })
    const runtime = testRuntime({ agents: [testAgent] })
    const run = await runtime.start({ agent: testAgent, input: 'Pay.', session: 's', runId: 'r' })
    await run.result()
    expect(await listed(runtime)).toEqual([undefined, 'May I?', 'paused'])
    await runtime.answer('s', { kind: 'approval', id: 'r::c', approved: true })
    await run.result()
    expect(await linesOf(runtime)).toEqual(['May I?', 'Done.'])
  })

  test('is the text of the root agent, not of sub-agents', async () => {
    const child = agent({ name: 'child', model: scriptedModel([{ text: 'I am the child.' }]) })
    const calls = [{ name: 'child', input: { prompt: 'go' } }]
    const testAgent = agent({ name: 'own', subAgents: [child], model: scriptedModel([{ text: 'I ask.', calls }, {}]) })
    const runtime = testRuntime({ agents: [testAgent] })
    await (await runtime.start({ agent: testAgent, input: 'go', session: 's' })).result()
    expect(await linesOf(runtime)).toEqual(['I ask.'])
  })

  test('is the text of the nodes of a workflow before its pause or end', async () => {
    const testWorkflow = single(async () => {
      await useReason({ model: scriptedModel([{ text: 'A draft.' }]), input: 'write' })
      await useInterrupt({ request: { kind: 'text', question: 'Good?' } })
      return { data: 'kept', ui: { message: 'It is\nsent.' } }
    })
    const runtime = testRuntime({ workflows: [testWorkflow] })
    const run = await runtime.start({ workflow: testWorkflow, input: 'go', session: 's' })
    const [question] = (await run.result()).pendings
    expect(await listed(runtime)).toEqual([undefined, 'A draft.', 'paused'])
    await runtime.answer('s', { kind: 'interrupt', id: question?.id ?? '', response: 'yes' })
    await run.result()
    expect(await linesOf(runtime)).toEqual(['A draft.', 'sent.'])
  })

  test('law 10: does not contain internal text', async () => {
    const testWorkflow = single(async () => {
      const { text } = await useReason({ model: scriptedModel([{ text: 'A secret.' }]), input: 'think', emit: false })
      return { data: text.length }
    })
    const runtime = testRuntime({ workflows: [testWorkflow] })
    expect(await (await runtime.start({ workflow: testWorkflow, input: 'Go.', session: 's' })).result()).toMatchObject({
      output: 'A secret.'.length,
    })
    expect(await linesOf(runtime)).toEqual([undefined])
    expect(await listed(runtime)).toEqual([undefined, 'Go.', 'ended'])
  })

  test('law 6: is dropped if the end would exceed the size limit', async () => {
    const words = (count: number) => '\u0001'.repeat(count)
    for (const count of [10, 160]) {
      const model = scriptedModel([
        { text: words(count), calls: [{ name: 'nothing', input: {} }] },
        { error: new ProviderError('provider_error', words(600)) },
      ])
      const testAgent = agent({ name: 'own', model, maxRetries: 0 })
      const runtime = testRuntime({ agents: [testAgent], log: { maxEntryBytes: 4096 } })
      const run = await runtime.start({ agent: testAgent, input: 'go', session: 's', runId: 'r' })
      expect(await run.result()).toMatchObject({ status: 'failed' })
      expect(await linesOf(runtime)).toEqual([count === 10 ? words(10) : undefined])
    }
  })
})

describe('title and metadata of a session', () => {
  test('lists title and metadata with or without an open run, and keeps absent fields', async () => {
    const wait = gate()
    const testAgent = patient(wait)
    const runtime = testRuntime({ agents: [testAgent] })
    const run = await runtime.start({ agent: testAgent, input: 'go', session: 's' })
    await until(run, 'text-delta')
    await runtime.describe('s', { title: 'A walk', metadata: { pinned: true } })
    expect(await listed(runtime)).toEqual(['A walk', 'go', 'active'])
    wait.open()
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'one two' })
    const { sequence } = await runtime.describe('s', { title: 'A long walk', guest: 'ada' })
    expect((await runtime.view('s')).ticket.about).toEqual({ title: 'A long walk', metadata: { pinned: true } })
    expect((await logOf(runtime, 's')).at(-1)).toMatchObject({ sequence, origin: { guest: 'ada' } })
    expect(await listed(runtime)).toEqual(['A long walk', 'one two', 'ended'])
  })

  test('copies title and metadata to a fork, and keeps them in a retry', async () => {
    const runtime = testRuntime({ agents: [echo] })
    await (await runtime.start({ agent: echo, input: 'a', session: 's' })).result()
    await runtime.describe('s', { title: 'A walk' })
    await (await runtime.retry('s')).result()
    expect(await listed(runtime)).toEqual(['A walk', '0: a', 'ended'])
    await runtime.fork('s', { session: 'copy' })
    expect((await runtime.view('copy')).ticket).toMatchObject({ about: { title: 'A walk' }, line: '0: a' })
  })

  test('rejects an invalid title or metadata with a code', async () => {
    const runtime = testRuntime({ agents: [echo], store: memoryStore() })
    expect(await codeOf(runtime.describe('s', { title: 'A walk' }))).toBe('session_unknown')
    await (await runtime.start({ agent: echo, input: 'a', session: 's' })).result()
    const { length } = await logOf(runtime, 's')
    const wrong = [
      {},
      null,
      { title: 1 },
      { metadata: 'x' },
      { title: 'x'.repeat(201) },
      { metadata: { a: 'x'.repeat(4096) } },
    ]
    for (const options of wrong)
      expect(await codeOf(runtime.describe('s', options as object))).toBe('validation_failed')
    expect(await logOf(runtime, 's')).toHaveLength(length)
    await runtime.close()
    expect(await codeOf(runtime.describe('s', { title: 'A walk' }))).toBe('runtime_closed')
  })
})

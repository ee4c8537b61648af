import type { Json } from '@millrace/protocol'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../define/agent.ts'
import { tool } from '../define/tool.ts'
import { scriptedModel } from '../model/scripted-model.ts'
import { type RunResult, resultOf } from './result.ts'
import type { Run } from './run.ts'
import { echo, gate, logOf, patient, testRuntime, until } from './test-runtime.fixture.ts'

const sum = agent({
  name: 'sum',
  model: scriptedModel(({ lastText }) => ({ text: JSON.stringify({ total: Number(lastText) }), usage: { input: 5 } })),
  outputSchema: z.object({ total: z.number() }),
})

const finisher = agent({
  name: 'finisher',
  model: scriptedModel([{ text: 'Here: ', calls: [{ name: 'give', input: { n: 7 } }] }]),
  tools: [
    tool({ name: 'give', inputSchema: z.object({ n: z.number() }), finish: true, execute: ({ n }) => ({ given: n }) }),
  ],
})

test('returns the output of its own run only', async () => {
  const runtime = testRuntime({ agents: [sum, echo] })
  const runs = [
    await runtime.start({ agent: sum, input: '1', session: 's' }),
    await runtime.start({ agent: echo, input: 'hi', session: 's', whenBusy: 'queue' }),
    await runtime.start({ agent: sum, input: '2', session: 's', whenBusy: 'queue' }),
  ]
  for (let i = 0; i < 2; i++) {
    const results = await Promise.all(runs.map(run => run.result()))
    expect(results.map(({ output }) => output)).toEqual([{ total: 1 }, undefined, { total: 2 }])
    expect(results[0]).toMatchObject({ status: 'completed', usage: { inputTokens: 5 }, error: undefined })
  }
})

test('returns the output of a finishing tool', async () => {
  const runtime = testRuntime({ agents: [finisher] })
  const run = await runtime.start({ agent: finisher, input: 'x', session: 's' })
  expect(await run.result()).toMatchObject({ status: 'completed', output: { given: 7 }, text: 'Here: ' })
})

const trouble = agent({
  name: 'trouble',
  // A discarded first attempt, a call with progress, and another answer.
  model: scriptedModel(({ options, lastText }) => {
    const attempt = options.providerOptions?.['millrace']?.['attempt']
    if (attempt === 1) return { text: 'Well', error: Object.assign(new Error('busy'), { statusCode: 503 }) }
    if (options.prompt.at(-1)?.role === 'tool') return { text: ' done', usage: { input: 2 } }
    return { text: `I look at ${lastText}.`, calls: [{ name: 'look', input: {} }], usage: { output: 3 } }
  }),
  tools: [
    tool({
      name: 'look',
      inputSchema: z.object({}),
      async *execute() {
        yield 'half'
        return 'whole'
      },
    }),
  ],
})

test("law 11: returns the same result from the run's entries and from the session", async () => {
  const broken = agent({
    name: 'broken',
    model: scriptedModel([{ text: 'so far', error: new Error('no') }]),
    maxRetries: 0,
  })
  const held = gate()
  const slow = patient(held)
  const runtime = testRuntime({ agents: [sum, echo, finisher, trouble, broken, slow] })
  const session = 's'
  const ends = new Map<string, RunResult>()
  const ended = async (run: Run) => {
    const result = await run.result()
    // As of the end of the run, before a later one rewound it.
    const log = await logOf(runtime, session)
    const at = log.find(({ chunk, origin }) => chunk.type === 'run-finished' && origin.runId === run.runId)?.sequence
    const { view } = await runtime.manager.view(session, at)
    const output = log.findLast(({ chunk, origin }) => chunk.type === 'output' && origin.runId === run.runId)?.chunk
    expect(result).toEqual(resultOf(session, view, run.runId, (output as { output?: Json } | undefined)?.output))
    ends.set(run.runId, result)
    return run
  }
  await ended(await runtime.start({ agent: echo, input: 'hi', session, context: { tenant: 't' } }))
  await ended(await runtime.start({ agent: trouble, input: 'it', session, runId: 'trouble' }))
  await ended(await runtime.retry(session))
  await ended(await runtime.start({ agent: sum, input: '3', session }))
  await ended(await runtime.start({ agent: finisher, input: 'x', session }))
  await ended(await runtime.start({ agent: broken, input: 'x', session }))
  const stopped = await runtime.start({ agent: slow, input: 'x', session })
  await until(stopped, 'text-delta')
  await stopped.stop()
  await ended(stopped)
  held.open()
  await ended(await runtime.resume(session, stopped.runId))
  expect([...ends.values()].map(({ status }) => status)).toEqual([
    ...Array(5).fill('completed'),
    'failed',
    'interrupted',
    'completed',
  ])
  expect(ends.get('trouble')).toMatchObject({ text: 'I look at it. done', usage: { inputTokens: 2 } })
  for (const [runId, result] of ends) expect(await runtime.run(session, runId).result()).toEqual(result)
})

test('returns the result of a run after its log was trimmed', async () => {
  const runtime = testRuntime({ agents: [sum, echo] })
  const first = await runtime.start({ agent: sum, input: '1', session: 's' })
  const before = await first.result()
  const second = await runtime.start({ agent: echo, input: 'hi', session: 's' })
  await second.result()
  await runtime.manager.trimStream('s', { maxEntries: 0 })
  const info = await runtime.manager.getInfo('s')
  expect(info?.floor).toBe(info?.head)
  expect(await first.result()).toEqual(before)
  expect(await runtime.run('s', first.runId).result()).toEqual(before)
  expect(await second.result()).toMatchObject({ status: 'completed', text: '1: hi', output: undefined })
})

test('returns the public error of a failed run', async () => {
  const broken = agent({
    name: 'broken',
    model: scriptedModel([{ text: 'so far', error: new Error('key sk-123 is wrong') }]),
    maxRetries: 0,
  })
  const runtime = testRuntime({ agents: [broken] })
  const result = await (await runtime.start({ agent: broken, input: 'x', session: 's' })).result()
  expect(result).toMatchObject({ status: 'failed', output: undefined, error: { code: 'provider_error' } })
  expect(JSON.stringify(result)).not.toContain('sk-123')
})

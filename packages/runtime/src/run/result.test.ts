import { expect, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../agent/agent.ts'
import { scriptedModel } from '../model/scripted.ts'
import { tool } from '../tool/tool.ts'
import { echo, stage } from './stage.fixture.ts'

const sum = agent({
  name: 'sum',
  model: scriptedModel(({ lastText }) => ({ text: JSON.stringify({ total: Number(lastText) }), usage: { input: 5 } })),
  output: z.object({ total: z.number() }),
})

const finisher = agent({
  name: 'finisher',
  model: scriptedModel([{ text: 'Here: ', calls: [{ name: 'give', input: { n: 7 } }] }]),
  tools: [tool({ name: 'give', input: z.object({ n: z.number() }), finish: true, execute: ({ n }) => ({ given: n }) })],
})

test('the result of a run is its own: another run’s output, before or after it, is none of it', async () => {
  const runtime = stage({ agents: [sum, echo] })
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

test('a finishing tool gives the output', async () => {
  const runtime = stage({ agents: [finisher] })
  const run = await runtime.start({ agent: finisher, input: 'x', session: 's' })
  expect(await run.result()).toMatchObject({ status: 'completed', output: { given: 7 }, text: 'Here: ' })
})

test('a run whose log was trimmed still has its result', async () => {
  const runtime = stage({ agents: [sum, echo] })
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

test('a failed run says what went wrong, in words fit to show', async () => {
  const broken = agent({
    name: 'broken',
    model: scriptedModel([{ text: 'so far', error: new Error('key sk-123 is wrong') }]),
    maxRetries: 0,
  })
  const runtime = stage({ agents: [broken] })
  const result = await (await runtime.start({ agent: broken, input: 'x', session: 's' })).result()
  expect(result).toMatchObject({ status: 'failed', output: undefined, error: { code: 'provider_error' } })
  expect(JSON.stringify(result)).not.toContain('sk-123')
})

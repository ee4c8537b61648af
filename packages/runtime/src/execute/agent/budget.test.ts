import { expect, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../../define/agent.ts'
import { tool } from '../../define/tool.ts'
import { isStep, textOf, VirtualCluster } from '../../drive/virtual-cluster.fixture.ts'
import { scriptedModel } from '../../model/scripted-model.ts'
import { callsOf, recordingModel, runToEnd } from './run-to-end.fixture.ts'

const again = tool({ name: 'again', inputSchema: z.object({}), execute: () => 'more' })
const endless = () => recordingModel(({ answers }) => ({ calls: [{ name: 'again', input: {}, id: `c${answers}` }] }))

test('fails a run after its maximum number of steps and keeps its content', async () => {
  const { model, modelCalls } = endless()
  const { result } = await runToEnd(agent({ name: 'endless', model, tools: [again], maxSteps: 3 }))
  expect(modelCalls).toHaveLength(3)
  expect(result).toMatchObject({
    status: 'failed',
    error: { code: 'budget_steps', category: 'budget', retryable: false },
    reason: 'the run has taken 3 steps, the limit is 3: raise budget.steps',
  })
  expect(callsOf(result.message).map(({ output }) => output)).toEqual(['more', 'more', 'more'])
})

test('completes a run that is done in its last step', async () => {
  const { model } = recordingModel([{ calls: [{ name: 'again', input: {} }] }, { text: 'Done.' }])
  const { result } = await runToEnd(agent({ name: 'just', model, tools: [again], maxSteps: 2 }))
  expect(result).toMatchObject({ status: 'completed', text: 'Done.' })
})

test('limits the tokens of a run, including discarded attempts and before a retry', async () => {
  const { model, modelCalls } = recordingModel(({ options }) => {
    const attempt = Number(options.providerOptions?.['millrace']?.['attempt'])
    const id = `c${modelCalls.length}`
    const usage = { input: 30, output: 10 }
    // Each step is tried twice: the first answer reports its usage and then fails.
    if (attempt > 1) return { calls: [{ name: 'again', input: {}, id }], usage }
    const error = { type: 'error' as const, error: new Error('overloaded') }
    const finish = {
      type: 'finish' as const,
      usage: tokens(30, 10),
      finishReason: { unified: 'error', raw: undefined },
    }
    return { parts: [error, finish] as never }
  })
  const { result } = await runToEnd(agent({ name: 'dear', model, tools: [again], budget: { tokens: 100 } }))
  expect(result).toMatchObject({
    status: 'failed',
    error: { code: 'budget_tokens' },
    reason: 'the run has used 120 tokens, the limit is 100: raise budget.tokens',
    usage: { inputTokens: 90, outputTokens: 30 },
  })
  expect(modelCalls).toHaveLength(3)
})

const tokens = (input: number, output: number) => ({
  inputTokens: { total: input, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: output, text: undefined, reasoning: undefined },
})

test('aborts the model call when the time of a run is over, and keeps the shown text', async () => {
  const cluster = new VirtualCluster()
  const signals: (AbortSignal | undefined)[] = []
  const { runtime } = cluster.process(timers => [
    agent({
      name: 'slow',
      model: scriptedModel(
        ({ options }) => {
          signals.push(options.abortSignal)
          return { text: 'one two three four five' }
        },
        { paceMs: 1000, timers },
      ),
      budget: { timeMs: 3500 },
    }),
  ])
  await runtime.start({ agent: 'slow', session: 's', runId: 'r', input: 'Go.' })
  expect(await cluster.waitForEnd('s', 'r')).toBe('failed')
  const view = await cluster.view('s')
  expect(view.runs[0]).toMatchObject({
    error: {
      code: 'budget_time',
      category: 'budget',
      message: 'the run has taken longer than 3500 ms: raise budget.timeMs',
    },
  })
  expect(textOf(view, 'r')).toBe('one two three')
  expect(signals.map(signal => signal?.aborted)).toEqual([true])
  await runtime.close()
})

const NEVER_SETTLES = [
  'a model',
  'a tool',
  'a schema',
  'an approval rule',
  'instructions',
  'modelLimits',
  'resolveContext',
  'stopWhen',
  'tools',
  'trimHistory',
]

test.each(NEVER_SETTLES)('ends a run that exceeds its time limit, although %s never settles', async limit => {
  const cluster = new VirtualCluster()
  const never = new Promise<never>(() => {})
  const stuck = tool({
    name: 'again',
    inputSchema: limit === 'a schema' ? z.object({}).refine(() => never) : z.object({}),
    jsonSchema: { type: 'object' },
    execute: () => (limit === 'a tool' ? never : 1),
    ...(limit === 'an approval rule' && { approval: () => never }),
  })
  const model = scriptedModel(() => (limit === 'a model' ? never : { calls: [{ name: 'again', input: {} }] }))
  const { runtime } = cluster.process(
    () => [
      agent({
        name: 'stuck',
        model,
        tools: () => (limit === 'tools' ? never : [stuck]),
        ...(limit === 'instructions' && { instructions: () => never }),
        ...(limit === 'modelLimits' && { modelLimits: () => never }),
        ...(limit === 'trimHistory' && { trimHistory: () => never }),
        ...(limit === 'stopWhen' && { stopWhen: () => never }),
        maxSteps: 1,
        budget: { timeMs: 5000 },
      }),
    ],
    limit === 'resolveContext' ? { resolveContext: () => never } : {},
  )
  await runtime.start({ agent: 'stuck', session: 's', runId: 'r', input: 'Go.' })
  expect(await cluster.waitForEnd('s', 'r')).toBe('failed')
  const view = await cluster.view('s')
  expect(view.runs[0]).toMatchObject({ error: { code: 'budget_time' } })
  if (limit === 'a tool') {
    expect(callsOf(view.messages.at(-1))).toMatchObject([{ state: 'output-error', code: 'interrupted' }])
  }
  await runtime.close()
})

test('counts the bytes of answers that another process has streamed', async () => {
  /** Runs to the end of the budget; returns the number of answers before the last model call. */
  const answersOf = async (isTakenOver: boolean) => {
    const cluster = new VirtualCluster()
    let last = 0
    const program = (isStuck: boolean) => {
      const model = scriptedModel(({ answers }) => {
        last = answers
        if (answers === 2 && isStuck) return new Promise<never>(() => {})
        return { text: 'x'.repeat(600), calls: [{ name: 'again', input: {}, id: `c${answers}` }] }
      })
      return agent({ name: 'long', model, tools: [again], budget: { bytes: 5000 } })
    }
    const first = cluster.process(() => [program(isTakenOver)])
    await first.runtime.start({ agent: 'long', session: 's', runId: 'r', input: 'Go.' })
    await cluster.waitForEntry('s', ({ chunk, origin }) => chunk.type === 'tool-output-available' && isStep(origin, 2))
    if (isTakenOver) {
      first.kill()
      cluster.process(() => [program(false)])
    }
    expect(await cluster.waitForEnd('s', 'r')).toBe('failed')
    expect((await cluster.view('s')).runs[0]).toMatchObject({ error: { code: 'budget_bytes' } })
    return last
  }
  const alone = await answersOf(false)
  expect(alone).toBeGreaterThan(2)
  expect(await answersOf(true)).toBe(alone)
})

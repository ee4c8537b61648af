// Providers that hang, in virtual time.

import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { describe, expect, test } from 'vitest'
import { type AgentDefinition, agent } from '../define/agent.ts'
import { textOf, VirtualCluster } from '../drive/virtual-cluster.fixture.ts'
import type { ModelLimits } from './model-limits.ts'
import { finish, partsModel, streamOf, textParts } from './model-run.fixture.ts'

const completeAnswer = [...textParts('It is warm.'), finish('stop', [10, 4])]
const begun: LanguageModelV4StreamPart[] = [
  { type: 'stream-start', warnings: [] },
  { type: 'text-start', id: '0' },
  { type: 'text-delta', id: '0', delta: 'It is' },
]

/** How one call of the model hangs: it never answers, or its stream stops after these parts. */
type Hang = 'no stream' | readonly LanguageModelV4StreamPart[]

/** A model that hangs in its first calls, then answers. */
function hangingModel(...hangs: readonly Hang[]) {
  const signals: AbortSignal[] = []
  const cancelled: unknown[] = []
  const model: LanguageModelV4 = {
    ...partsModel(),
    async doStream({ abortSignal }) {
      const hang = hangs[signals.push(abortSignal as AbortSignal) - 1]
      if (hang === undefined) return { stream: streamOf(completeAnswer) }
      if (hang === 'no stream') return new Promise(() => {})
      return {
        stream: new ReadableStream({
          start(controller) {
            for (const part of hang) controller.enqueue(part)
          },
          cancel: reason => void cancelled.push(reason),
        }),
      }
    },
  }
  return { model, signals, cancelled }
}

type Options = Pick<AgentDefinition<string, [], undefined, undefined>, 'modelLimits' | 'maxRetries'>

async function startRun(model: LanguageModelV4, options: Options = {}, runtimeLimits?: Partial<ModelLimits>) {
  const cluster = new VirtualCluster()
  const { runtime } = cluster.process(() => [agent({ name: 'helper', model, ...options })], {
    ...(runtimeLimits && { modelLimits: runtimeLimits }),
  })
  await runtime.start({ agent: 'helper', session: 's', runId: 'r', input: 'Hello?' })
  return { cluster, runtime }
}

describe('a provider that is silent', () => {
  const HANGS: Record<string, readonly [Hang, Partial<ModelLimits>, string]> = {
    'before its stream begins': ['no stream', { firstPartMs: 5000 }, 'firstPartMs'],
    'before the first part': [[], { firstPartMs: 5000 }, 'firstPartMs'],
    'after the part that its package sends at once': [begun.slice(0, 1), { firstPartMs: 5000 }, 'firstPartMs'],
    'in the middle of a text': [begun, { idleMs: 5000 }, 'idleMs'],
    'before the end of its stream': [[...begun, { type: 'text-end', id: '0' }], { idleMs: 5000 }, 'idleMs'],
  }
  for (const [name, [hang, modelLimits, option]] of Object.entries(HANGS)) {
    test(`${name}: the call is aborted after ${option} and retried`, async () => {
      const { model, signals } = hangingModel(hang)
      const { cluster } = await startRun(model, { modelLimits })
      expect(await cluster.waitForEnd('s', 'r')).toBe('completed')
      const view = await cluster.view('s')
      expect(textOf(view, 'r')).toBe('It is warm.')
      expect(signals.map(({ aborted }) => aborted)).toEqual([true, false])
      expect(signals[0]?.reason).toMatchObject({ code: 'provider_timeout', message: expect.stringContaining(option) })
    })

    test(`${name}: the run fails after all retries with a public message`, async () => {
      const { model, signals } = hangingModel(hang, hang)
      const { cluster } = await startRun(model, { modelLimits, maxRetries: 1 })
      expect(await cluster.waitForEnd('s', 'r')).toBe('failed')
      expect((await cluster.view('s')).runs[0]?.error).toMatchObject({
        code: 'provider_timeout',
        category: 'provider',
        retryable: true,
        message: expect.stringContaining(`raise modelLimits.${option}`),
      })
      expect(signals).toHaveLength(2)
    })
  }

  test('is retried by default after 5 minutes, and after 3 minutes in the middle of an answer', async () => {
    const { model, signals } = hangingModel('no stream', begun)
    const { cluster } = await startRun(model)
    await cluster.clock.advance(299_000)
    expect(signals).toHaveLength(1)
    await cluster.clock.advance(5000)
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false])
    await cluster.clock.advance(174_000)
    expect(signals).toHaveLength(2)
    await cluster.clock.advance(10_000)
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true, false])
  })

  test('is timed out by the limits of the runtime, unless the agent has its own', async () => {
    const { model, signals } = hangingModel('no stream', begun)
    const { cluster } = await startRun(model, { modelLimits: { idleMs: 3000 } }, { firstPartMs: 2000, idleMs: 1 })
    await cluster.clock.advance(1900)
    expect(signals[0]?.aborted).toBe(false)
    await cluster.clock.advance(2000)
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false])
    expect(await cluster.waitForEnd('s', 'r')).toBe('completed')
    expect(signals[1]?.reason).toMatchObject({ message: expect.stringContaining('3000 ms') })
  })

  test('is timed out by the limits that a function returns for the step', async () => {
    const { model, signals } = hangingModel('no stream')
    const steps: number[] = []
    const modelLimits = ({ step }: { step: number }) => ({ firstPartMs: steps.push(step) * 1000 })
    const { cluster } = await startRun(model, { modelLimits })
    expect(await cluster.waitForEnd('s', 'r')).toBe('completed')
    expect(steps).toEqual([1])
    expect(signals[0]?.reason).toMatchObject({ message: expect.stringContaining('1000 ms') })
  })

  test('has its stream cancelled if it opens too late', async () => {
    const { model, cancelled } = hangingModel()
    const late = Promise.withResolvers<void>()
    const cancelledLate = Promise.withResolvers<unknown>()
    let calls = 0
    const lateModel: LanguageModelV4 = {
      ...model,
      async doStream(options) {
        if (++calls > 1) return model.doStream(options)
        await late.promise
        return { stream: new ReadableStream({ cancel: reason => cancelledLate.resolve(reason) }) }
      },
    }
    const { cluster } = await startRun(lateModel, { modelLimits: { firstPartMs: 1000 } })
    expect(await cluster.waitForEnd('s', 'r')).toBe('completed')
    late.resolve()
    expect(await cancelledLate.promise).toMatchObject({ code: 'provider_timeout' })
    expect(cancelled).toEqual([])
  })

  test('is aborted by a stop', async () => {
    const { model, signals } = hangingModel('no stream')
    const { cluster, runtime } = await startRun(model)
    await cluster.clock.advance(1000)
    await runtime.stop('s', 'r')
    expect(await cluster.waitForEnd('s', 'r')).toBe('interrupted')
    expect(signals[0]?.aborted).toBe(true)
  })
})

test('a provider that sends a part within each interval is not silent', async () => {
  const words = Array.from(
    { length: 50 },
    (): LanguageModelV4StreamPart => ({ type: 'text-delta', id: '0', delta: 'hm ' }),
  )
  const parts = [...begun, ...words, ...completeAnswer.slice(2)]
  const cluster = new VirtualCluster()
  const { runtime } = cluster.process(timers => {
    const pull = async (controller: ReadableStreamDefaultController<LanguageModelV4StreamPart>) => {
      await new Promise<void>(resolve => void timers.after(900, resolve))
      const part = parts.shift()
      if (part === undefined) controller.close()
      else controller.enqueue(part)
    }
    const model: LanguageModelV4 = {
      ...partsModel(),
      doStream: async () => ({ stream: new ReadableStream({ pull }, { highWaterMark: 0 }) }),
    }
    return [agent({ name: 'helper', model, modelLimits: { firstPartMs: 2000, idleMs: 1000 }, maxRetries: 0 })]
  })
  await runtime.start({ agent: 'helper', session: 's', runId: 'r', input: 'Hello?' })
  expect(await cluster.waitForEnd('s', 'r')).toBe('completed')
})

test.each([
  ['modelLimits: idleMs: expected a number above 0, found 0', { idleMs: 0 }],
  ['modelLimits: expected firstPartMs, idleMs, answerBytes, answerTokens, found idle', { idle: 1 } as never],
])('rejects a limit that is not valid: %s', (message, modelLimits) => {
  expect(() => agent({ name: 'a', model: partsModel(), modelLimits })).toThrow(`agent a: ${message}`)
})

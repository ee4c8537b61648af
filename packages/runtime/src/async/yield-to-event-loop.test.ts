import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { testRuntime } from '../api/test-runtime.fixture.ts'
import { agent } from '../define/agent.ts'
import { tool } from '../define/tool.ts'
import { caller, callsOf, runToEnd } from '../execute/agent/run-to-end.fixture.ts'
import { yieldToEventLoop } from './yield-to-event-loop.ts'

/** Upper limit of endless work in ms, so that a failing test does not hang. */
const ENDLESS_MS = 60_000

function* endless(): Generator<number, string> {
  const end = performance.now() + ENDLESS_MS
  for (let n = 1; performance.now() < end; n++) yield n
  return 'nobody ended it'
}

test('lets other tasks run during continuous work, at intervals', async () => {
  let isThrough = false
  setTimeout(() => {
    isThrough = true
  }, 0)
  // Each read of the clock takes 10 µs.
  let now = 0
  const timers = { now: () => (now += 0.01), after: () => () => {} }
  let rests = 0
  let works = 0
  for (const _ of endless()) {
    const rest = yieldToEventLoop(timers)
    if (rest) rests++
    else works++
    await rest
    if (isThrough) break
  }
  expect(isThrough).toBe(true)
  expect(rests).toBeGreaterThan(0)
  expect(works).toBeGreaterThan(100 * rests)
})

test.each<[string, () => Generator | AsyncGenerator]>([
  [
    'an asynchronous generator',
    async function* () {
      return yield* endless()
    },
  ],
  ['a synchronous generator', endless],
])('ends a tool that never pauses at its timeout: %s', async (_, execute) => {
  const busy = tool({
    name: 'busy',
    inputSchema: z.object({}),
    timeoutMs: 5,
    execute: () => execute() as AsyncGenerator<unknown, string>,
  })
  const { result } = await runToEnd(caller([busy], [{ name: 'busy' }]).agent)
  expect(callsOf(result.message)).toMatchObject([{ state: 'output-error', code: 'tool_timeout' }])
})

test('stops a model whose stream never pauses', async () => {
  const begun = Promise.withResolvers<void>()
  const parts = (function* (): Generator<LanguageModelV4StreamPart> {
    yield { type: 'text-start', id: 't' }
    setImmediate(begun.resolve)
    for (const _ of endless()) yield { type: 'text-delta', id: 't', delta: 'on and ' }
  })()
  const talker = agent({
    name: 'talker',
    model: {
      specificationVersion: 'v4',
      provider: 'test',
      modelId: 'endless',
      supportedUrls: {},
      doGenerate: () => Promise.reject(new Error('doGenerate is not supported: use doStream')),
      doStream: async () => ({
        stream: new ReadableStream<LanguageModelV4StreamPart>({
          pull(controller) {
            const { done, value } = parts.next()
            if (done) controller.close()
            else controller.enqueue(value)
          },
        }),
      }),
    },
    maxRetries: 0,
  })
  const runtime = testRuntime({ agents: [talker] })
  const run = await runtime.start({ session: 's', agent: talker, input: 'Go.' })
  await begun.promise
  await run.stop()
  expect((await run.result()).status).toBe('interrupted')
})

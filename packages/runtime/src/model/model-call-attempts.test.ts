import { APICallError, type LanguageModelV4, type LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { systemTimers, type Timers } from '@millrace/log'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { providerTool, tool } from '../define/tool.ts'
import { AgentHarness, chunksOf, finish, type Outcome, partsModel, streamOf, textParts } from './model-run.fixture.ts'

const error = (type: string): LanguageModelV4StreamPart => ({ type: 'error', error: { type, message: 'sk-secret' } })
const completeAnswer = [...textParts('It is warm.'), finish('stop', [10, 4])]

/** What happened to the attempts of the first step. */
const attemptsOf = ({ entries }: Outcome) => ({
  starts: chunksOf(entries, 'step-start').map(({ attempt = 1 }) => attempt),
  discards: chunksOf(entries, 'step-discarded').map(({ reason, attempt, usage }) => ({ reason, attempt, usage })),
})

describe('law 7: an answer without an end is not accepted', () => {
  const INCOMPLETE: readonly (readonly [string, LanguageModelV4StreamPart[], string, object | undefined])[] = [
    ['a stream without a finish part', textParts('It is'), 'provider_stream_cut', undefined],
    [
      'a stream that finishes as interrupted',
      [...textParts('It is'), finish('interrupted', [7])],
      'provider_stream_cut',
      { inputTokens: 7 },
    ],
    [
      'a stream that finishes with an error',
      [...textParts('It is'), finish('error', [7])],
      'provider_error',
      { inputTokens: 7 },
    ],
    ['an error part', [...textParts('It is'), error('overloaded_error')], 'provider_overloaded', undefined],
    [
      'an error part, and a finish part with usage',
      [...textParts('It is'), error('rate_limit_error'), finish('error', [7])],
      'provider_rate_limited',
      { inputTokens: 7 },
    ],
  ]
  for (const [name, parts, reason, usage] of INCOMPLETE) {
    test(`discards ${name}, retries, and counts its usage`, async () => {
      const model = partsModel(parts, completeAnswer)
      const harness = new AgentHarness(model)
      const outcome = await harness.run()
      expect(outcome.result).toMatchObject({ status: 'completed', text: 'It is warm.' })
      expect(attemptsOf(outcome)).toEqual({ starts: [1, 2], discards: [{ reason, attempt: 1, usage }] })
      expect(outcome.result.usage.inputTokens).toBe(usage ? 17 : 10)
      expect(outcome.view.runs[0]?.discarded).toEqual(usage ?? {})
      expect(model.calls.map(({ providerOptions }) => providerOptions?.['millrace'])).toEqual([
        { key: expect.any(String), attempt: 1 },
        { key: model.calls[0]?.providerOptions?.['millrace']?.['key'], attempt: 2 },
      ])
      await harness.close()
    })
  }

  test('does not wait for a stream that stays open after an error', async () => {
    // Virtual time: waiting for the usage takes no time here.
    const timers: Timers = {
      ...systemTimers,
      after: (ms, ...rest) => systemTimers.after(ms === 1000 ? 0 : ms, ...rest),
    }
    let isCancelled = false
    let calls = 0
    const model: LanguageModelV4 = {
      ...partsModel(),
      async doStream() {
        if (++calls > 1) return { stream: streamOf(completeAnswer) }
        const start = (controller: ReadableStreamDefaultController) => controller.enqueue(error('api_error'))
        const cancel = () => {
          isCancelled = true
        }
        return { stream: new ReadableStream({ start, cancel }) }
      },
    }
    const harness = new AgentHarness(model, {}, { timers })
    expect((await harness.run()).result.status).toBe('completed')
    expect({ isCancelled, calls }).toEqual({ isCancelled: true, calls: 2 })
    await harness.close()
  })
})

describe('a model call that fails', () => {
  const refused = (statusCode: number, headers: Record<string, string> = {}) =>
    new APICallError({
      message: 'sk-secret',
      url: 'https://maker.example',
      requestBodyValues: {},
      statusCode,
      responseHeaders: headers,
      responseBody: 'sk-secret',
    })
  const failing = (failure: unknown, times = Number.POSITIVE_INFINITY) => {
    let calls = 0
    const model: LanguageModelV4 = {
      ...partsModel(),
      async doStream() {
        if (++calls <= times) throw failure
        return { stream: streamOf(completeAnswer) }
      },
    }
    return { model, calls: () => calls }
  }

  test('discards nothing if it fails before its first part', async () => {
    const { model } = failing(refused(503), 2)
    const harness = new AgentHarness(model)
    const outcome = await harness.run()
    expect(outcome.result.text).toBe('It is warm.')
    expect(attemptsOf(outcome)).toEqual({ starts: [3], discards: [] })
    await harness.close()
  })

  test('is retried maxRetries times, then fails the run with a public message', async () => {
    const failure = refused(503)
    const { model, calls } = failing(failure)
    const harness = new AgentHarness(model, { maxRetries: 2 })
    const { result, entries } = await harness.run()
    expect(calls()).toBe(3)
    expect(result).toMatchObject({
      status: 'failed',
      error: { code: 'provider_overloaded', category: 'provider', retryable: true },
    })
    expect(JSON.stringify(entries)).not.toMatch(/sk-secret|maker\.example/)
    expect(harness.logged.filter(({ fields }) => fields['cause'] === failure)).toHaveLength(3)
    await harness.close()
  })

  test('is not retried after an error that is not retryable', async () => {
    const { model, calls } = failing(refused(401))
    const harness = new AgentHarness(model)
    expect((await harness.run()).result).toMatchObject({ status: 'failed', error: { code: 'provider_unauthorized' } })
    expect(calls()).toBe(1)
    await harness.close()
  })

  test('is discarded after an error that throws when it is read', async () => {
    const throwing = () => {
      throw new Error('sk-secret')
    }
    const failure = new Proxy({}, { get: throwing, has: throwing, getPrototypeOf: throwing })
    const model: LanguageModelV4 = {
      ...partsModel(),
      async doStream() {
        const parts = textParts('It is')
        const pull = (controller: ReadableStreamDefaultController) => {
          const part = parts.shift()
          if (part) controller.enqueue(part)
          else controller.error(failure)
        }
        return { stream: new ReadableStream({ pull }, { highWaterMark: 0 }) }
      },
    }
    const harness = new AgentHarness(model)
    const outcome = await harness.run()
    expect(outcome.result).toMatchObject({ status: 'failed', error: { code: 'provider_error' } })
    expect(attemptsOf(outcome)).toEqual({
      starts: [1],
      discards: [{ reason: 'provider_error', attempt: 1, usage: undefined }],
    })
    expect(harness.logged.some(({ fields }) => fields['cause'] === failure)).toBe(true)
    await harness.close()
  })

  test('is retried after the delay that the provider asks for, up to a maximum', async () => {
    const waits: number[] = []
    const timers: Timers = {
      ...systemTimers,
      after(ms, call, isIdle) {
        const isLong = ms === 7000 || ms === 60_000
        if (isLong) waits.push(ms)
        return systemTimers.after(isLong ? 0 : ms, call, isIdle)
      },
    }
    for (const headers of [{ 'retry-after': '7' }, { 'retry-after': '90000' }]) {
      const harness = new AgentHarness(failing(refused(429, headers), 1).model, {}, { timers })
      expect((await harness.run()).result.status).toBe('completed')
      await harness.close()
    }
    expect(waits).toEqual([7000, 60_000])
  })
})

test('commits results of provider tools at the end of the call; a discard removes only drafts', async () => {
  const search = providerTool({ name: 'search', id: 'maker.search' })
  const found: LanguageModelV4StreamPart[] = [
    { type: 'tool-call', toolCallId: 'a', toolName: 'search', input: '{"q":1}', providerExecuted: true },
    { type: 'tool-result', toolCallId: 'a', toolName: 'search', result: ['half'], preliminary: true },
    { type: 'tool-result', toolCallId: 'a', toolName: 'search', result: ['completeAnswer'] },
  ]
  const harness = new AgentHarness(partsModel([...found, ...textParts('It')], [...found, ...completeAnswer]), {
    tools: [search],
  })
  const outcome = await harness.run()
  expect(attemptsOf(outcome).discards).toHaveLength(1)
  const outputs = outcome.entries.filter(({ chunk }) => chunk.type === 'tool-output-available')
  // The discarded attempt had only a delta.
  expect(outputs.map(({ chunk }) => 'preliminary' in chunk)).toEqual([true, true, false])
  const at = outcome.entries.findIndex(
    ({ chunk }) => chunk.type === 'tool-output-available' && !('preliminary' in chunk),
  )
  expect(outcome.entries.slice(at).map(({ chunk }) => chunk.type)).toEqual([
    'tool-output-available',
    'step-finish',
    'checkpoint-created',
    'finish',
    'run-finished',
  ])
  expect(outcome.view.messages[1]?.parts).toContainEqual(
    expect.objectContaining({
      toolCallId: 'a',
      state: 'output-available',
      executor: 'provider',
      output: ['completeAnswer'],
    }),
  )
  await harness.close()
})

test('replaces ids that a provider repeats', async () => {
  const look = tool({ name: 'look', inputSchema: z.object({}), execute: (_, { toolCallId }) => toolCallId })
  const calling: LanguageModelV4StreamPart[] = ['', 'x', 'x'].map(toolCallId => ({
    type: 'tool-call',
    toolCallId,
    toolName: 'look',
    input: '{}',
  }))
  const answer = [...calling, finish('tool-calls')]
  const harness = new AgentHarness(partsModel(answer, answer, completeAnswer, answer, completeAnswer), {
    tools: [look],
  })
  expect((await harness.run()).result.status).toBe('completed')
  const { view } = await harness.run('Again?')
  const calls = view.messages.flatMap(({ parts }) => parts.flatMap(part => ('toolCallId' in part ? part : [])))
  expect(new Set(calls.map(({ toolCallId }) => toolCallId)).size).toBe(9)
  for (const { state, output, toolCallId } of calls) {
    expect({ state, output }).toEqual({ state: 'output-available', output: toolCallId })
  }
  await harness.close()
})

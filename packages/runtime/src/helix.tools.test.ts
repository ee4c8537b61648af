// The bugs of helix.test.ts that concern tools, models and errors.

import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { systemTimers, type Timers } from '@millrace/log'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { gate, logOf, quiet, testRuntime, typesOf } from './api/test-runtime.fixture.ts'
import { agent } from './define/agent.ts'
import { type ToolContext, tool } from './define/tool.ts'
import { scriptedModel } from './model/scripted-model.ts'

/** An agent that calls a tool once and answers. It records the model calls. */
function calling(execute: (input: object, context: ToolContext) => unknown, more: object = {}) {
  const seen = { calls: 0, prompt: '' }
  const model = scriptedModel(({ options }) => {
    seen.calls++
    seen.prompt = JSON.stringify(options.prompt)
    const isDone = options.prompt.at(-1)?.role === 'tool'
    return isDone ? { text: 'done' } : { text: 'using. ', calls: [{ name: 'use', input: {} }] }
  })
  const use = tool({ name: 'use', inputSchema: z.object({}), execute })
  return { seen, testAgent: agent({ name: 'caller', model, tools: [use], ...more }) }
}

describe('an output that is too large', () => {
  test('is a typed outcome of its call, takes no sequence, and repeats no model call (Helix 6)', async () => {
    const { seen, testAgent } = calling(() => 'x'.repeat(5000))
    const runtime = testRuntime({ agents: [testAgent], log: { blobBytes: 100, maxBlobBytes: 1000 } })
    const { status, message } = await (await runtime.start({ agent: testAgent, input: 'go', session: 's' })).result()
    expect(status).toBe('completed')
    expect(message?.parts.find(part => 'toolCallId' in part)).toMatchObject({
      state: 'output-error',
      code: 'tool_output_too_large',
    })
    expect(seen.calls).toBe(2)
    const log = await logOf(runtime, 's')
    expect(log.map(({ sequence }) => sequence)).toEqual(log.map((_, index) => index + 1))
  })

  test('is reported to the model if it is a state change (Helix 18)', async () => {
    const { seen, testAgent } = calling(
      (_, { updateState }) => {
        updateState(() => ({ large: 'x'.repeat(2_000_000) }))
        return 'written'
      },
      { initialState: { large: '' } },
    )
    const runtime = testRuntime({ agents: [testAgent] })
    const { status, message } = await (await runtime.start({ agent: testAgent, input: 'go', session: 's' })).result()
    expect(status).toBe('completed')
    expect(message?.parts.find(part => 'toolCallId' in part)).toMatchObject({
      state: 'output-error',
      code: 'tool_state_refused',
    })
    expect(seen.prompt).not.toContain('written')
    expect((await runtime.view('s')).view.state).toEqual({ large: '' })
  })
})

describe('a call and its outcome', () => {
  test('executes nothing before the commit of its call (Helix 12)', async () => {
    const { promise: committed, resolve } = Promise.withResolvers<string[]>()
    const { testAgent } = calling(async (_, { sessionId }) => {
      resolve(typesOf(await logOf(runtime, sessionId)))
      return null
    })
    const runtime = testRuntime({ agents: [testAgent] })
    await (await runtime.start({ agent: testAgent, input: 'go', session: 's' })).result()
    const types = await committed
    expect(types.at(-1)).toBe('checkpoint-created')
    expect(types.indexOf('tool-input-available')).toBeLessThan(types.length - 1)
  })

  test('a failed run leaves no call without an outcome: the next turn gets both (Helix 15)', async () => {
    const prompts: string[] = []
    const running = gate()
    const use = tool({
      name: 'use',
      inputSchema: z.object({}),
      async execute() {
        running.open()
        await new Promise(() => {})
      },
    })
    const testAgent = agent({
      name: 'slow',
      model: scriptedModel(({ options, answers }) => {
        prompts.push(JSON.stringify(options.prompt))
        const calls = ['a', 'b'].map(id => ({ name: 'use', input: {}, id }))
        return answers === 0 ? { text: 'using. ', calls } : { text: 'better now' }
      }),
      tools: [use],
      budget: { timeMs: 2_000_000 },
    })
    // The test ends its time.
    const alarms: (() => void)[] = []
    const timers: Timers = {
      now: systemTimers.now,
      after(ms, call, isIdle) {
        if (ms < 1_000_000) return systemTimers.after(ms, call, isIdle)
        alarms.push(call)
        return () => {}
      },
    }
    const runtime = testRuntime({ agents: [testAgent], timers })
    const run = await runtime.start({ agent: testAgent, input: 'go', session: 's' })
    await running.opened
    for (const ring of alarms) ring()
    const first = await run.result()
    expect(first).toMatchObject({ status: 'failed', error: { code: 'budget_time' } })
    const states = first.message?.parts.flatMap(part => ('toolCallId' in part ? [[part.state, part.code]] : []))
    expect(states).toEqual(Array(2).fill(['output-error', 'interrupted']))
    const second = await (await runtime.start({ agent: testAgent, input: 'again', session: 's' })).result()
    expect(second.text).toBe('better now')
    for (const type of ['tool-call', 'tool-result']) {
      expect(prompts.at(-1)?.split(`"type":"${type}"`)).toHaveLength(3)
    }
  })
})

describe('errors', () => {
  test('rejects an answer that is cut off (Helix 4)', async () => {
    let calls = 0
    const whole = scriptedModel([{ text: 'The answer is 42.' }])
    const model: LanguageModelV4 = {
      ...whole,
      async doStream(options) {
        const { stream } = await whole.doStream(options)
        if (calls++ > 0) return { stream }
        const cut = new TransformStream<LanguageModelV4StreamPart, LanguageModelV4StreamPart>({
          transform(part, controller) {
            if (part.type === 'text-delta' && part.delta.includes('is')) controller.terminate()
            else controller.enqueue(part)
          },
        })
        return { stream: stream.pipeThrough(cut) }
      },
    }
    const testAgent = agent({ name: 'cut', model })
    const runtime = testRuntime({ agents: [testAgent] })
    const run = await runtime.start({ agent: testAgent, input: 'go', session: 's' })
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'The answer is 42.' })
    const discard = (await logOf(runtime, 's')).find(({ chunk }) => chunk.type === 'step-discarded')
    expect(discard?.chunk).toMatchObject({ reason: 'provider_stream_cut', attempt: 1 })
  })

  test('sends the text of an unexpected error only to the logger (Helix 20)', async () => {
    const secret = 'sk-very-secret'
    const modelCalls: unknown[] = []
    const logger = { ...quiet, error: (_: string, { cause }: { cause?: unknown }) => modelCalls.push(cause) }
    const failing = calling(() => {
      throw new Error(`the key ${secret} was refused`)
    }).testAgent
    const broken = agent({
      name: 'broken',
      model: scriptedModel([{ error: new Error(`401 for ${secret}`) }]),
      maxRetries: 0,
    })
    const confused = agent({
      name: 'confused',
      model: scriptedModel([]),
      instructions: () => {
        throw new Error(`no instructions for ${secret}`)
      },
    })
    const runtime = testRuntime({ agents: [failing, broken, confused], logger })
    const statuses = []
    for (const testAgent of [failing, broken, confused]) {
      statuses.push((await (await runtime.start({ agent: testAgent, input: 'go', session: 's' })).result()).status)
    }
    expect(statuses).toEqual(['completed', 'failed', 'failed'])
    expect(JSON.stringify(await logOf(runtime, 's'))).not.toContain(secret)
    expect(modelCalls.map(String).join()).toContain(secret)
    const errors = (await logOf(runtime, 's')).flatMap(({ chunk }) => (chunk.type === 'error' ? [chunk] : []))
    expect(errors.map(({ code, category }) => [code, category])).toEqual([
      ['provider_error', 'provider'],
      ['agent_failed', 'agent'],
    ])
  })
})

import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../define/agent.ts'
import { tool } from '../define/tool.ts'
import { scriptedModel } from '../model/scripted-model.ts'
import { gate, logOf, patient, testRuntime, textsOf, typesOf, until } from './test-runtime.fixture.ts'

/** An agent with a tool that never ends on its own. */
function stuck() {
  const running = gate()
  const signals: AbortSignal[] = []
  const forever = tool({
    name: 'forever',
    inputSchema: z.object({}),
    async *execute(_, { abortSignal, updateState }) {
      signals.push(abortSignal)
      updateState(() => ({ wrote: true }))
      yield 'half way'
      running.open()
      await new Promise(() => {})
    },
  })
  const model = scriptedModel([
    { text: 'Wait. ', calls: [{ name: 'forever', input: {}, id: 'c1' }] },
    { text: 'Done.' },
  ])
  return { running, signals, agent: agent({ name: 'stuck', model, tools: [forever] }) }
}

describe('a stop', () => {
  test('keeps the streamed content and ends the run as interrupted', async () => {
    const agent = patient(gate())
    const runtime = testRuntime({ agents: [agent] })
    const run = await runtime.start({ agent, input: 'hi', session: 's' })
    await until(run, 'text-delta')
    expect(await run.stop({ reason: 'enough' })).toBe(true)
    expect(await run.result()).toMatchObject({ status: 'interrupted', text: 'one ', output: undefined })
    expect(await textsOf(runtime, 's')).toEqual(['hi', 'one '])
    const { view } = await runtime.view('s')
    expect(view.messages[1]).toMatchObject({ status: 'cancelled', parts: [{}, { text: 'one ', state: 'done' }] })
    expect(typesOf(await logOf(runtime, 's')).slice(-2)).toEqual(['abort', 'run-finished'])
  })

  test('settles open calls, aborts their signals and drops uncommitted changes', async () => {
    const { running, signals, agent } = stuck()
    const runtime = testRuntime({ agents: [agent] })
    const run = await runtime.start({ agent, input: 'hi', session: 's' })
    await running.opened
    await run.stop()
    const { status, message } = await run.result()
    expect(status).toBe('interrupted')
    const call = message?.parts.find(part => 'toolCallId' in part)
    expect(call).toMatchObject({ toolCallId: 'c1', state: 'output-error', code: 'interrupted' })
    expect(signals.map(({ aborted }) => aborted)).toEqual([true])
    const { view } = await runtime.view('s')
    expect(view).not.toHaveProperty('state')
    expect(view.pendings).toEqual([])
  })

  test('ends the run as aborted, even after an interrupt was requested', async () => {
    const { running, agent } = stuck()
    const runtime = testRuntime({ engine: false })
    const run = await runtime.start({ agent, input: 'hi', session: 's' })
    // No driver runs yet: both stops are there when one starts.
    const writer = await runtime.manager.createWriter('s', {
      runId: run.runId,
      program: agent.program,
      agentType: 'stuck',
    })
    await writer.begin()
    await writer.close()
    expect(await run.stop()).toBe(true)
    expect(await runtime.stop('s', run.runId, { guest: 'bob' })).toBe(false)
    expect(await runtime.stop('s', run.runId, { guest: 'bob', mode: 'abort' })).toBe(true)
    testRuntime({ store: runtime.manager.store, agents: [agent] })
    expect((await run.result()).status).toBe('aborted')
    running.open()
  })

  test('stops a run in another process', async () => {
    const agent = patient(gate())
    const driver = testRuntime({ agents: [agent] })
    const server = testRuntime({ store: driver.manager.store, engine: false })
    const run = await server.start({ agent, input: 'hi', session: 's' })
    await until(run, 'text-delta')
    expect(await server.stop('s', run.runId)).toBe(true)
    expect((await run.result()).status).toBe('interrupted')
  })

  test('changes nothing after the end', async () => {
    const held = gate()
    const agent = patient(held)
    const runtime = testRuntime({ agents: [agent] })
    const run = await runtime.start({ agent, input: 'hi', session: 's' })
    held.open()
    await run.result()
    const before = await logOf(runtime, 's')
    expect(await run.stop()).toBe(false)
    expect(await logOf(runtime, 's')).toEqual(before)
  })
})

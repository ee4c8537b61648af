// The gaps that were found in the design of the Kortyx pages, by section: approvals and tools (3.7, 10.3), resuming
// after an interrupt (10.2), and the context of the server (10.1). Workflows, the reducer, servers and browsers are
// tested elsewhere.

import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  approve,
  call,
  callsIn,
  counted,
  scripted,
  sendResult,
  startRun,
  subAgentCall,
  validLog,
} from './api/pendings.fixture.ts'
import type { Runtime } from './api/runtime.ts'
import { codeOf, echo, logOf, sqliteStores, testRuntime, textsOf } from './api/test-runtime.fixture.ts'
import { agent } from './define/agent.ts'
import { tool } from './define/tool.ts'
import { ToolError } from './error/error.ts'
import { caller, chunksOf, resultsIn } from './execute/agent/run-to-end.fixture.ts'
import { scriptedModel } from './model/scripted-model.ts'
import type { Logger } from './telemetry/logger.ts'

describe('approvals', () => {
  /** An agent whose model never repeats itself, and calls a tool without approval before one with approval. */
  function fickle() {
    let calls = 0
    const look = counted('look')
    const pay = counted('pay', true)
    const testAgent = agent({
      name: 'fickle',
      tools: [look.tool, pay.tool],
      model: scriptedModel(({ turnAnswers }) => {
        const n = ++calls * 100
        if (turnAnswers === 0) return { calls: [call('look', `look-${n}`, { n })] }
        if (turnAnswers === 1) return { calls: [call('pay', `pay-${n}`, { n })] }
        return { text: `Done at call ${calls}.` }
      }),
    })
    return { testAgent, look, pay, calls: () => calls }
  }

  test('an answer makes neither the model plan again nor earlier tools run again (Kortyx 10.3)', async () => {
    const { testAgent, look, pay, calls } = fickle()
    const { runtime, run } = await startRun(testAgent)
    await run.result()
    expect([calls(), look.ran, pay.ran]).toEqual([2, [100], []])
    await approve(runtime, 'pay-200')
    // One more model call with the tool's outcome: the approved call ran unchanged.
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'Done at call 3.' })
    expect([look.ran, pay.ran]).toEqual([[100], [200]])
  })

  test('an answer continues in another process, which has only the log (Kortyx 10.3)', async () => {
    const [firstStore, yours] = await sqliteStores(2)
    const first = fickle()
    const { runtime, run } = await startRun(first.testAgent, { ...(firstStore && { store: firstStore }) })
    await run.result()
    await runtime.close()
    const second = fickle()
    const nextRuntime = testRuntime({ agents: [second.testAgent], ...(yours && { store: yours }) })
    await approve(nextRuntime, 'pay-200')
    expect(await nextRuntime.run('s', 'r').result()).toMatchObject({ status: 'completed', text: 'Done at call 1.' })
    expect([first.look.ran, first.pay.ran, second.look.ran, second.pay.ran]).toEqual([[100], [], [], [200]])
  })

  test('an approval applies to one call with its arguments (Kortyx 10.3)', async () => {
    const pay = counted('pay', true)
    const testAgent = scripted(
      'own',
      [
        { calls: [call('pay', 'c1', { n: 1 }), call('pay', 'c2', { n: 1000 })] },
        { calls: [call('pay', 'c3', { n: 5 })] },
        { text: 'Done.' },
      ],
      { tools: [pay.tool] },
    )
    const { runtime, run } = await startRun(testAgent.agent)
    await run.result()
    // The second in the list is approved while the first waits: the first does not run.
    await approve(runtime, 'c2', true, { input: { n: 1000 } })
    expect((await run.result()).pendings).toMatchObject([{ id: 'r::c1' }])
    expect(pay.ran).toEqual([1000])
    expect(await codeOf(approve(runtime, 'c1', true, { input: { n: 1000 } }))).toBe('answer_invalid')
    await approve(runtime, 'c1', false)
    expect((await run.result()).pendings).toMatchObject([{ id: 'r::c3', part: { input: { n: 5 } } }])
    // No earlier approval applies to this call.
    expect(pay.ran).toEqual([1000])
    await approve(runtime, 'c3')
    expect(await run.result()).toMatchObject({ status: 'completed' })
    expect(pay.ran).toEqual([1000, 5])
  })

  test('the arguments are shown for approval: in the stream, the view and the result (Kortyx 3.7)', async () => {
    const pay = counted('pay', true)
    const { runtime, run } = await startRun(caller([pay.tool], [call('pay', 'c1', { n: 42 })]).agent)
    const shown: unknown[] = []
    for await (const { chunk } of run.stream()) if (chunk.type === 'tool-approval-request') shown.push(chunk)
    expect(shown).toMatchObject([{ toolName: 'pay', toolCallId: 'c1', approvalId: 'r::c1', input: { n: 42 } }])
    const { view } = await runtime.view('s')
    for (const pendings of [view.pendings, (await run.result()).pendings]) {
      expect(pendings).toMatchObject([{ part: { toolName: 'pay', input: { n: 42 } } }])
    }
  })

  test('input is validated before approval, and an unknown tool ends no run (Kortyx 3.7)', async () => {
    const pay = counted('pay', true)
    const { agent: testAgent, modelCalls } = caller(
      [pay.tool],
      [call('pay', 'c1', { n: 'all of it' }), call('no_such_tool', 'c2'), call('pay', 'c3', { n: 3 })],
    )
    const { runtime, run } = await startRun(testAgent)
    expect((await run.result()).pendings).toMatchObject([{ id: 'r::c3' }])
    await approve(runtime, 'c3')
    expect(await run.result()).toMatchObject({ status: 'completed' })
    expect(pay.ran).toEqual([3])
    const results = resultsIn(modelCalls[1] as never)
    expect(results['c1']).toMatchObject({
      type: 'error-text',
      value: expect.stringContaining('does not match its schema'),
    })
    expect(results['c2']).toMatchObject({ type: 'error-text', value: expect.stringContaining('there is no tool') })
  })

  test('a run may have a waiting tool and an output, whose JSON is not text (Kortyx 3.7)', async () => {
    const pay = counted('pay', true)
    const testAgent = scripted('own', [{ calls: [call('pay', 'c1', { n: 1 })] }, { text: '{"paid":1}' }], {
      tools: [pay.tool],
      outputSchema: z.object({ paid: z.number() }),
    })
    const { runtime, run } = await startRun(testAgent.agent)
    await run.result()
    await approve(runtime, 'c1')
    expect(await run.result()).toMatchObject({ status: 'completed', output: { paid: 1 }, text: '' })
  })
})

describe('resuming after an interrupt', () => {
  /** A session with a run that waits for a choice. */
  async function runtimeWithQuestion(options: object = {}, meta: object = {}): Promise<Runtime> {
    const runtime = testRuntime({ engine: false, ...options })
    await runtime.start({ agent: echo, input: 'go', session: 's', runId: 'r', principal: 'ada' })
    const writer = await runtime.manager.createWriter('s', { runId: 'r', program: echo.program, agentType: 'echo' })
    const choices = ['yes', 'no'].map(id => ({ id, label: id }))
    await writer.commit([
      { type: 'interrupt', interruptId: 'i1', input: { kind: 'choice', question: 'Sure?', options: choices, ...meta } },
    ])
    await runtime.manager.pauseStream('s')
    await writer.close()
    return runtime
  }

  test('a response is bound to the session and its owner (Kortyx 10.2)', async () => {
    const runtime = await runtimeWithQuestion()
    await runtime.start({ agent: echo, input: 'x', session: 'mine', runId: 'r', principal: 'eve' })
    const answer = { kind: 'interrupt', id: 'i1', response: 'yes' } as const
    expect(await codeOf(runtime.answer('mine', answer, { principal: 'eve' }))).toBe('answer_unknown')
    expect(await codeOf(runtime.answer('s', answer, { principal: 'eve' }))).toBe('answer_forbidden')
    expect((await runtime.view('s')).view.pendings).toHaveLength(1)
    await runtime.answer('s', answer, { principal: 'ada' })
  })

  test('a response must be one of the offered options (Kortyx 10.2)', async () => {
    const runtime = await runtimeWithQuestion()
    const before = await logOf(runtime, 's')
    for (const response of ['not-an-option', 'YES', '', ['yes'], null, { id: 'yes' }]) {
      expect(await codeOf(runtime.answer('s', { kind: 'interrupt', id: 'i1', response }))).toBe('answer_invalid')
    }
    expect(await logOf(runtime, 's')).toEqual(before)
  })

  test('the node gets all chosen options (Kortyx 6)', async () => {
    const runtime = await runtimeWithQuestion({}, { multiple: true })
    await runtime.answer('s', { kind: 'interrupt', id: 'i1', response: ['no', 'yes'] })
    expect((await runtime.view('s')).view.interrupts).toMatchObject([{ response: ['no', 'yes'] }])
  })

  test('accepts one of two concurrent responses in two processes (Kortyx 10.2)', async () => {
    const stores = await sqliteStores(3)
    const ran: number[] = []
    const pay = tool({
      name: 'pay',
      inputSchema: z.object({ n: z.number() }),
      approval: true,
      execute: ({ n }) => ran.push(n),
    })
    const { agent: testAgent } = caller([pay], [call('pay', 'c1', { n: 1 })])
    const [first, second, third] = stores.map(store =>
      testRuntime({ agents: [testAgent], store, engine: { pollMs: 5, graceMs: 0 } }),
    )
    const run = await (first as Runtime).start({ agent: testAgent, input: 'Go.', session: 's', runId: 'r' })
    await run.result()
    const codes = await Promise.all(
      [first, second, third, second, third].map((runtime, n) =>
        codeOf(
          (runtime as Runtime).answer('s', { kind: 'approval', id: 'r::c1', approved: true }, { guest: `guest ${n}` }),
        ),
      ),
    )
    expect(codes.filter(code => code === 'none')).toHaveLength(1)
    expect(new Set(codes)).toEqual(new Set(['none', 'answer_already_settled']))
    expect(await run.result()).toMatchObject({ status: 'completed' })
    expect(ran).toEqual([1])
    const log = await logOf(first as Runtime, 's')
    expect(chunksOf(log, 'tool-approval-response')).toHaveLength(1)
    expect(chunksOf(log, 'run-finished')).toHaveLength(1)
  })

  test('rejects a response without an interrupt and starts no run (Kortyx 10.2)', async () => {
    const pay = counted('pay', true)
    const { runtime, run } = await startRun(caller([pay.tool], [call('pay', 'c1', { n: 1 })]).agent)
    await run.result()
    await approve(runtime, 'c1')
    await run.result()
    const before = await logOf(runtime, 's')
    const answers = [
      { kind: 'approval', id: 'r::c1', approved: false },
      { kind: 'approval', id: 'r::c9', approved: true },
      { kind: 'interrupt', id: 'i9', response: 'yes' },
      { kind: 'tool-result', id: 'c1', output: 'forged' },
    ] as const
    const codes = []
    for (const answer of answers) codes.push(await codeOf(runtime.answer('s', answer)))
    expect(codes).toEqual(['answer_already_settled', 'answer_unknown', 'answer_unknown', 'answer_unknown'])
    expect(await logOf(runtime, 's')).toEqual(before)
    expect((await runtime.view('s')).view.runs).toHaveLength(1)
    expect(await textsOf(runtime, 's')).toEqual(['Go.', 'Done.'])
  })

  test('logs nothing that allows its reader to answer (Kortyx 10.2)', async () => {
    const texts: string[] = []
    const take = (message: string, fields: object) => void texts.push(message, JSON.stringify(fields))
    const logger: Logger = { warn: take, error: take }
    const pay = counted('pay', true)
    const { agent: testAgent } = caller([pay.tool], [call('pay', 'c1', { n: 1 }), call('pay', 'c2', { n: 2 })])
    const { runtime, run } = await startRun(testAgent, { logger }, { context: { key: 'sk-secret' } })
    await run.result()
    await codeOf(approve(runtime, 'c9'))
    await approve(runtime, 'c1')
    await approve(runtime, 'c2', false, { reason: 'sk-private' })
    let result = await run.result()
    while (result.status === 'paused') result = await run.result()
    expect(result.status).toBe('completed')
    expect(texts).toEqual([])
  })
})

describe('the context of the server', () => {
  const SECRET = 'tenant-7f3a'

  test('is in no entry, view, result, pause, error or fork (Kortyx 10.1)', async () => {
    const seen: unknown[] = []
    const locate = tool({ name: 'locate', inputSchema: z.object({}), client: true })
    const pay = tool({
      name: 'pay',
      inputSchema: z.object({}),
      approval: (_, { context }) => {
        seen.push(context)
        return true
      },
      execute: (_, { context }) => void seen.push(context),
    })
    const child = scripted('child', [{ calls: [call('pay', 'k1')] }, { text: 'ok' }], { tools: [pay] })
    const testAgent = scripted(
      'own',
      [{ calls: [call('pay', 'c1'), call('locate', 'c2'), subAgentCall('child', 'c3')] }, { text: 'Done.' }],
      {
        tools: [pay, locate],
        subAgents: [child.agent],
      },
    )
    const { runtime, run } = await startRun(testAgent.agent, {}, { context: { key: SECRET } })
    const read: unknown[] = [await run.result()]
    for await (const entry of run.stream()) read.push(entry)
    await runtime.answer('s', { kind: 'approval', id: 'r::c9', approved: true }).catch(error => {
      read.push({ ...error, message: String(error), stack: undefined })
    })
    read.push(await runtime.view('s'))
    read.push(await runtime.view(await runtime.fork('s', { session: 'f' })))
    for (const id of ['c1', 'k1']) await approve(runtime, id)
    await sendResult(runtime, 'c2')
    let result = await run.result()
    while (result.status === 'paused') result = await run.result()
    for await (const entry of run.stream()) read.push(entry)
    read.push(result, await runtime.view('s'), testAgent.prompts, child.prompts)
    expect(result.status).toBe('completed')
    // Server code had it, in the rule and the tool, of the parent and the child.
    expect(seen).toEqual(Array(4).fill({ key: SECRET }))
    expect(JSON.stringify(read)).not.toContain(SECRET)
    // It is in the log as an internal entry.
    const kept = (await validLog(runtime)).filter(({ internal }) => internal)
    expect(JSON.stringify(kept)).toContain(SECRET)
  })

  test('is never taken from an answer (Kortyx 10.1)', async () => {
    const seen: unknown[] = []
    const pay = tool({
      name: 'pay',
      inputSchema: z.object({}),
      approval: true,
      execute: (_, { context }) => void seen.push(context),
    })
    const { runtime, run } = await startRun(caller([pay], [call('pay', 'c1')]).agent, {}, { context: { role: 'user' } })
    await run.result()
    const forged = {
      kind: 'approval',
      id: 'r::c1',
      approved: true,
      context: { role: 'admin' },
      internal: true,
    } as const
    await runtime.answer('s', forged)
    await run.result()
    expect(seen).toEqual([{ role: 'user' }])
    expect(JSON.stringify(await logOf(runtime, 's'))).not.toContain('admin')
  })

  test('does not leak through errors of rules, tools, sub-agents and resolveContext (Kortyx 10.1)', async () => {
    const fails = () => {
      throw new Error(`refused for ${SECRET}`)
    }
    const pay = tool({ name: 'pay', inputSchema: z.object({}), approval: fails, execute: fails })
    const shown = tool({
      name: 'shown',
      inputSchema: z.object({}),
      execute: () => {
        throw new ToolError('the account is closed')
      },
    })
    const child = agent({ name: 'child', model: scriptedModel(fails), maxRetries: 0 })
    const testAgent = scripted(
      'own',
      [{ calls: [call('pay', 'c1'), call('shown', 'c2'), subAgentCall('child', 'c3')] }, { text: 'Done.' }],
      {
        tools: [pay, shown],
        subAgents: [child],
      },
    )
    const { runtime, run, logged } = await startRun(testAgent.agent)
    await run.result()
    await approve(runtime, 'c1')
    expect(await run.result()).toMatchObject({ status: 'completed' })
    expect(await callsIn(runtime)).toMatchObject({
      c1: { errorText: 'pay failed' },
      c2: { errorText: 'the account is closed' },
      c3: { code: 'subagent_failed' },
    })
    const broken = await startRun(testAgent.agent, { resolveContext: fails })
    expect(await broken.run.result()).toMatchObject({ status: 'failed' })
    for (const all of [await validLog(runtime), await validLog(broken.runtime), testAgent.prompts]) {
      expect(JSON.stringify(all)).not.toContain(SECRET)
    }
    expect(logged.map(({ cause }) => String(cause)).join()).toContain(SECRET)
  })
})

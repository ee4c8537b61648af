import { Memory, memoryStore } from '@millrace/log'
import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { approve, call, callsIn, closedIn, counted, scripted, startRun, validLog } from '../../api/pendings.fixture.ts'
import { gate, testRuntime } from '../../api/test-runtime.fixture.ts'
import { agent } from '../../define/agent.ts'
import type { Approval, ApprovalContext } from '../../define/approval.ts'
import { subAgent } from '../../define/sub-agent.ts'
import { type AnyTool, tool } from '../../define/tool.ts'
import { caller, chunksOf, commitOf, resultsIn } from '../agent/run-to-end.fixture.ts'

const three = (name: string) => [1, 2, 3].map(n => call(name, `c${n}`, { n }))

/** Rules with an unusable result. */
const UNHELPFUL: Record<string, () => unknown> = {
  throws() {
    throw new Error('sk-secret')
  },
  rejects: () => Promise.reject(new Error('sk-secret')),
  'returns undefined': () => undefined,
  'returns an invalid decision': () => ({ approved: 'yes' }),
}

describe('approval requests', () => {
  test('requests approval in the commit of the calls, with the exact input', async () => {
    const { ran, tool: pay } = counted('pay', true)
    const { agent: testAgent } = caller([pay], three('pay'))
    const { runtime, run } = await startRun(testAgent)
    expect(await run.result()).toMatchObject({ status: 'paused' })
    const log = await validLog(runtime)
    expect(chunksOf(log, 'tool-approval-request')).toEqual(
      [1, 2, 3].map(n => ({
        type: 'tool-approval-request',
        toolCallId: `c${n}`,
        toolName: 'pay',
        approvalId: `r::c${n}`,
        input: { n },
      })),
    )
    // One batch contains the calls and the requests, each request on the lane of its call.
    const requests = log.filter(({ chunk }) => chunk.type === 'tool-approval-request')
    expect(requests.map(({ origin }) => origin.lane)).toEqual(['main/c1', 'main/c2', 'main/c3'])
    const end = log.findIndex(({ chunk }) => chunk.type === 'step-finish')
    const types = log.slice(end).map(({ chunk }) => chunk.type)
    expect(types.slice(0, 3)).toEqual(['step-finish', 'checkpoint-created', 'tool-approval-request'])
    expect(new Set(log.slice(end, -1).map(({ timestamp }) => timestamp)).size).toBe(1)
    expect(ran).toEqual([])
  })

  test('a rule decides for each call: false runs, true asks, an object decides', async () => {
    const rule = async ({ n }: { n: number }, _: ApprovalContext) => {
      await Promise.resolve()
      if (n === 1) return false
      if (n === 2) return true
      return { approved: n === 3, reason: `rule ${n}` }
    }
    const { ran, tool: pay } = counted('pay', rule)
    const { agent: testAgent, modelCalls } = caller([pay], [...three('pay'), call('pay', 'c4', { n: 4 })])
    const { runtime, run } = await startRun(testAgent)
    expect(await run.result()).toMatchObject({
      status: 'paused',
      suspended: { kind: 'suspended_step_partial', toolCallIds: ['c2'], stepId: 'r/main/1' },
      pendings: [{ id: 'r::c2' }],
    })
    // Allowed calls have run, and no person was asked about calls that the rule denied.
    expect(ran).toEqual([1, 3])
    expect(await callsIn(runtime)).toMatchObject({
      c1: { state: 'output-available' },
      c2: { state: 'approval-requested', approval: { id: 'r::c2' } },
      c3: { state: 'output-available', approval: { approved: true, isAutomatic: true, reason: 'rule 3' } },
      c4: { state: 'output-denied', approval: { approved: false, isAutomatic: true, reason: 'rule 4' } },
    })
    await approve(runtime, 'c2')
    expect(await run.result()).toMatchObject({ status: 'completed' })
    expect(ran).toEqual([1, 3, 2])
    const log = await validLog(runtime)
    expect(chunksOf(log, 'tool-approval-request').map(({ isAutomatic = false }) => isAutomatic)).toEqual([
      false,
      true,
      true,
    ])
    expect(
      chunksOf(log, 'tool-approval-response').map(({ toolCallId, isAutomatic = false }) => [toolCallId, isAutomatic]),
    ).toEqual([
      ['c3', true],
      ['c4', true],
      ['c2', false],
    ])
    expect(resultsIn(modelCalls[1] as never)).toMatchObject({
      c2: { value: 'pay 2' },
      c4: { type: 'execution-denied', reason: 'rule 4' },
    })
  })

  test('evaluates a rule once per requested call, even if the run is taken over', async () => {
    const ruleCalls: string[] = []
    const memory = new Memory()
    const newAgent = () => {
      const { tool: pay } = counted('pay', (_, { toolCallId }) => {
        ruleCalls.push(toolCallId)
        return true
      })
      return caller([pay], three('pay')).agent
    }
    const { runtime, run } = await startRun(newAgent(), { store: memoryStore(undefined, memory) })
    await run.result()
    await approve(runtime, 'c1')
    await runtime.close()
    const nextRuntime = testRuntime({ agents: [newAgent()], store: memoryStore(undefined, memory) })
    for (const id of ['c2', 'c3']) await approve(nextRuntime, id)
    expect(await nextRuntime.run('s', 'r').result()).toMatchObject({ status: 'completed' })
    expect(ruleCalls).toEqual(['c1', 'c2', 'c3'])
  })

  test.each(Object.entries(UNHELPFUL))('asks a person if the rule %s', async (name, rule) => {
    const { ran, tool: pay } = counted('pay', rule as Approval<{ n: number }>)
    const { agent: testAgent } = caller([pay], [call('pay', 'c1', { n: 1 })])
    const { runtime, run, logged } = await startRun(testAgent)
    expect(await run.result()).toMatchObject({ status: 'paused', pendings: [{ id: 'r::c1' }] })
    const isThrown = name === 'throws' || name === 'rejects'
    expect(logged.map(({ level, message, cause }) => [level, message, String(cause)])).toEqual(
      isThrown ? [['error', 'an approval rule failed: a person is asked', 'Error: sk-secret']] : [],
    )
    expect(JSON.stringify(await validLog(runtime))).not.toContain('sk-secret')
    expect(ran).toEqual([])
    await approve(runtime, 'c1')
    expect(await run.result()).toMatchObject({ status: 'completed' })
    expect(ran).toEqual([1])
  })

  test('passes copies of the parsed input and of the context to a rule', async () => {
    const seen: unknown[] = []
    const book = tool({
      name: 'book',
      inputSchema: z.object({ day: z.string().transform(day => new Date(day)) }),
      approval(input, { sessionId, runId, agentId, agentType, step, toolCallId, toolName, context, state, data }) {
        seen.push({
          day: input.day.toISOString(),
          sessionId,
          runId,
          agentId,
          agentType,
          step,
          toolCallId,
          toolName,
          context,
          state: structuredClone(state),
          data,
        })
        Object.assign(input, { day: new Date(0) })
        Object.assign(state as object, { n: 7 })
        return true
      },
      execute: ({ day }) => day.toISOString().slice(0, 10),
    })
    const { agent: testAgent } = caller([book], [call('book', 'c1', { day: '2030-01-02' })], { initialState: { n: 1 } })
    const { runtime, run } = await startRun(testAgent, {}, { context: { tenant: 4 }, data: { from: 'browser' } })
    expect(await run.result()).toMatchObject({ pendings: [{ part: { input: { day: '2030-01-02' } } }] })
    expect(seen).toEqual([
      {
        day: '2030-01-02T00:00:00.000Z',
        sessionId: 's',
        runId: 'r',
        agentId: 'r',
        agentType: 'caller',
        step: 1,
        toolCallId: 'c1',
        toolName: 'book',
        context: { tenant: 4 },
        state: { n: 1 },
        data: { from: 'browser' },
      },
    ])
    await approve(runtime, 'c1', true, { input: { day: '2030-01-02' } })
    await run.result()
    // The approved input was executed.
    expect(await callsIn(runtime)).toMatchObject({ c1: { output: '2030-01-02', input: { day: '2030-01-02' } } })
    expect((await runtime.view('s')).view.state).toEqual({ n: 1 })
  })

  test('requests no approval of a call with invalid input', async () => {
    const { tool: pay } = counted('pay', true)
    const { agent: testAgent } = caller([pay], [call('pay', 'c1', { n: 'much' })])
    const { runtime, run } = await startRun(testAgent)
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'Done.' })
    expect(chunksOf(await validLog(runtime), 'tool-approval-request')).toEqual([])
  })
})

describe('approval answers', () => {
  test('continues each answered call while others wait', async () => {
    const { ran, tool: pay } = counted('pay', true)
    const { agent: testAgent } = caller([pay], three('pay'))
    const { runtime, run } = await startRun(testAgent)
    await run.result()
    await approve(runtime, 'c2')
    expect(await run.result()).toMatchObject({
      status: 'paused',
      suspended: { kind: 'suspended_step_partial', toolCallIds: ['c1', 'c3'] },
    })
    expect(ran).toEqual([2])
    await approve(runtime, 'c3', false)
    expect(await run.result()).toMatchObject({ suspended: { toolCallIds: ['c1'] } })
    await approve(runtime, 'c1')
    expect(await run.result()).toMatchObject({ status: 'completed' })
    expect(ran).toEqual([2, 1])
    const log = await validLog(runtime)
    // The last outcome closes the step once.
    expect(closedIn(log)).toEqual(['r/main/1', 'r/main/2'])
    expect(chunksOf(log, 'run-paused').map(({ awaits }) => awaits.map(({ id }) => id))).toEqual([
      ['r::c1', 'r::c2', 'r::c3'],
      ['r::c1', 'r::c3'],
      ['r::c1'],
    ])
    expect(commitOf(log, chunk => chunk.type === 'tool-output-denied').map(({ type }) => type)).toContain(
      'tool-output-denied',
    )
  })

  test('runs an answered call while another call of the step runs', async () => {
    const held = gate()
    const slow = tool({ name: 'slow', inputSchema: z.object({}), execute: () => held.opened.then(() => 'slowly') })
    const { ran, tool: pay } = counted('pay', true)
    const { agent: testAgent } = caller([slow, pay], [call('slow', 'c1'), call('pay', 'c2', { n: 2 })])
    const { runtime, run } = await startRun(testAgent)
    for await (const { chunk } of run.stream()) {
      if (chunk.type === 'tool-approval-request') await approve(runtime, 'c2')
      if (chunk.type === 'tool-output-available' && chunk.toolCallId === 'c2') break
    }
    expect(ran).toEqual([2])
    held.open()
    expect(await run.result()).toMatchObject({ status: 'completed' })
    // The run did not pause while a call was running.
    expect(chunksOf(await validLog(runtime), 'run-paused')).toEqual([])
  })

  test('tells the model about a denial and its reason, and continues', async () => {
    const { ran, tool: pay } = counted('pay', true)
    const { agent: testAgent, modelCalls } = caller([pay], [call('pay', 'c1', { n: 1 })])
    const { runtime, run } = await startRun(testAgent)
    await run.result()
    await approve(runtime, 'c1', false, { reason: 'too much' })
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'Done.' })
    expect(resultsIn(modelCalls[1] as never)).toEqual({ c1: { type: 'execution-denied', reason: 'too much' } })
    expect(ran).toEqual([])
    const log = await validLog(runtime)
    expect(chunksOf(log, 'tool-output-denied')).toEqual([
      { type: 'tool-output-denied', toolCallId: 'c1', reason: 'too much' },
    ])
  })

  test('an approved finishing tool ends the run, a denied one does not', async () => {
    const submit = tool({
      name: 'submit',
      inputSchema: z.object({}),
      finish: true,
      approval: true,
      execute: () => ({ done: 1 }),
    })
    const { agent: testAgent } = caller([submit], [call('submit', 'c1')])
    const yes = await startRun(testAgent)
    await yes.run.result()
    await approve(yes.runtime, 'c1')
    expect(await yes.run.result()).toMatchObject({ status: 'completed', output: { done: 1 }, text: '' })
    const no = await startRun(testAgent)
    await no.run.result()
    await approve(no.runtime, 'c1', false)
    expect(await no.run.result()).toMatchObject({ status: 'completed', output: undefined, text: 'Done.' })
  })

  test('requests approval of an interrupted call whose tool needs approval now', async () => {
    const memory = new Memory()
    const begun = gate()
    const pay = (approval: boolean, execute: () => unknown) =>
      scripted('payer', [{ calls: [call('pay', 'c1', { n: 1 })] }, { text: 'Done.' }], {
        tools: [tool({ name: 'pay', inputSchema: z.object({ n: z.number() }), approval, execute })],
      }).agent
    const old = pay(false, () => {
      begun.open()
      return new Promise(() => {})
    })
    const { runtime } = await startRun(old, { store: memoryStore(undefined, memory) })
    await begun.opened
    await runtime.close()
    const ran: string[] = []
    const nextRuntime = testRuntime({
      agents: [pay(true, () => ran.push('paid'))],
      store: memoryStore(undefined, memory),
    })
    const run = nextRuntime.run('s', 'r')
    expect(await run.result()).toMatchObject({
      status: 'paused',
      pendings: [{ kind: 'approval', id: 'r::c1', part: { input: { n: 1 } } }],
    })
    expect(ran).toEqual([])
    await approve(nextRuntime, 'c1')
    expect(await run.result()).toMatchObject({ status: 'completed' })
    expect(ran).toEqual(['paid'])
    expect(closedIn(await validLog(nextRuntime))).toEqual(['r/main/1', 'r/main/2'])
  })
})

describe('limits', () => {
  test('rejects an input that is too large to be shown, and requests the others', async () => {
    const show = tool({
      name: 'show',
      inputSchema: z.object({ text: z.string() }),
      approval: true,
      execute: () => 'shown',
    })
    const texts = ['x'.repeat(30_000), 'y'.repeat(30_000), 'small']
    const { agent: testAgent, modelCalls } = caller(
      [show],
      texts.map((text, n) => call('show', `c${n}`, { text })),
    )
    const store = Object.assign(memoryStore(), { maxBatchBytes: 50_000 })
    const { runtime, run } = await startRun(testAgent, { store })
    expect((await run.result()).pendings.map(({ id }) => id)).toEqual(['r::c0', 'r::c2'])
    expect(await callsIn(runtime)).toMatchObject({ c1: { state: 'output-error', code: 'tool_input_too_large' } })
    for (const id of ['c0', 'c2']) await approve(runtime, id)
    let result = await run.result()
    while (result.status === 'paused') result = await run.result()
    expect(result.status).toBe('completed')
    expect(resultsIn(modelCalls[1] as never)).toMatchObject({
      c0: { value: 'shown' },
      c1: { type: 'error-text' },
      c2: {},
    })
    expect(closedIn(await validLog(runtime))).toEqual(['r/main/1', 'r/main/2'])
  })

  test.each([
    ['to tools that need approval', { approval: true, execute: () => 'shown' }],
    ['to client tools', { client: true }],
    ['to client tools that need approval', { client: true, approval: true }],
  ])(
    'requests as many of 120 large inputs %s as fit, and serializes each a bounded number of times',
    async (_, kind) => {
      const show = tool({ name: 'show', inputSchema: z.object({ text: z.string() }), ...kind } as never) as AnyTool
      const calls = Array.from({ length: 120 }, (_, n) => call('show', `c${n}`, { text: 'x'.repeat(9000) }))
      const { agent: testAgent, modelCalls } = caller([show], calls)
      const store = Object.assign(memoryStore(), { maxBatchBytes: 480_000 })
      const spy = vi.spyOn(JSON, 'stringify')
      const { runtime, run } = await startRun(testAgent, { store })
      const { pendings } = await run.result()
      const written = spy.mock.results.reduce((sum, { value }) => sum + (value?.length ?? 0), 0)
      spy.mockRestore()
      expect(written / JSON.stringify(calls).length).toBeLessThan(30)
      const taken = pendings.map(pending => ('part' in pending ? pending.part.toolCallId : pending.id))
      expect(taken.length).toBeGreaterThan(10)
      expect(taken.length).toBeLessThan(54)
      expect(taken).toEqual(calls.slice(0, taken.length).map(({ id }) => id))
      expect(await callsIn(runtime)).toMatchObject({
        c119: { state: 'output-error', errorText: expect.stringContaining('too large to be shown') },
      })
      await run.stop()
      await run.result()
      await (await runtime.resume('s', 'r')).result()
      expect(Object.keys(resultsIn(modelCalls.at(-1) as never))).toHaveLength(120)
      await validLog(runtime)
    },
  )

  test('requests as many of 300 calls as a ticket holds, and rejects the others', async () => {
    const { ran, tool: pay } = counted('pay', true)
    const calls = Array.from({ length: 300 }, (_, n) => call('pay', `c${n}`, { n }))
    const { agent: testAgent, modelCalls } = caller([pay], calls)
    const { runtime, run } = await startRun(testAgent)
    const { pendings } = await run.result()
    expect(pendings).toHaveLength(256)
    const { c255, c256, c299 } = await callsIn(runtime)
    expect(c255?.state).toBe('approval-requested')
    for (const refused of [c256, c299]) {
      expect(refused).toMatchObject({ state: 'output-error', code: 'tool_too_many_pendings' })
    }
    for (const id of ['c0', 'c255']) await approve(runtime, id)
    let result = await run.result()
    while (result.pendings.length > 254) result = await run.result()
    expect(ran).toEqual([0, 255])
    await run.stop()
    expect(await run.result()).toMatchObject({ status: 'interrupted' })
    await validLog(runtime)
    const again = await runtime.resume('s', 'r')
    expect(await again.result()).toMatchObject({ status: 'completed' })
    expect(Object.keys(resultsIn(modelCalls.at(-1) as never))).toHaveLength(300)
  })
})

test('rejects invalid approval options', () => {
  const define = (approval: unknown) => () =>
    tool({ name: 'pay', inputSchema: z.object({}), approval: approval as Approval, execute: () => 1 })
  for (const wrong of [
    'yes',
    1,
    null,
    { rule: true },
    { timeoutMs: 0 },
    { timeoutMs: -1 },
    { timeoutMs: '1s' },
    { timeoutMs: Number.NaN },
    { timeoutMs: 1e15 },
  ]) {
    expect(define(wrong)).toThrow(/tool pay: approval/)
    expect(() =>
      subAgent(agent({ name: 'a', model: scripted('a', []).agent.model }), { approval: wrong as Approval }),
    ).toThrow(/tool a: approval/)
  }
  for (const right of [true, false, undefined, () => true, {}, { timeoutMs: 1 }]) expect(define(right)).not.toThrow()
})

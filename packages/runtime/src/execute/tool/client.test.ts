// Client tools: claims, results, and steps that wait for several of them.

import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  approve,
  call,
  callsIn,
  closedIn,
  counted,
  scripted,
  sendResult,
  startRun,
  validLog,
} from '../../api/pendings.fixture.ts'
import { codeOf } from '../../api/test-runtime.fixture.ts'
import { agent } from '../../define/agent.ts'
import { subAgent } from '../../define/sub-agent.ts'
import { tool } from '../../define/tool.ts'
import { ProviderError } from '../../error/error.ts'
import { CLIENT_TOOL_ERROR_CODES } from '../../error/error-codes.ts'
import { scriptedModel } from '../../model/scripted-model.ts'
import { caller, chunksOf, resultsIn } from '../agent/run-to-end.fixture.ts'

const locate = tool({ name: 'locate', title: 'Where am I?', inputSchema: z.object({ n: z.number() }), client: true })

/** An agent that calls a client tool for each id. */
const asking = (...ids: string[]) =>
  caller(
    [locate],
    ids.map((id, n) => call('locate', id, { n })),
  )

describe('a client call', () => {
  test('is requested by the commit of the model call, on the lane of the agent', async () => {
    const { runtime, run } = await startRun(asking('c1', 'c2').agent)
    expect(await run.result()).toMatchObject({
      status: 'paused',
      suspended: { kind: 'suspended_client_tool', toolCallIds: ['c1', 'c2'] },
      pendings: [
        { kind: 'client-tool', id: 'c1', part: { input: { n: 0 }, executor: 'client', title: 'Where am I?' } },
        { kind: 'client-tool', id: 'c2' },
      ],
    })
    const log = await validLog(runtime)
    const callEntries = log.filter(({ chunk }) => chunk.type === 'tool-input-available')
    expect(callEntries.map(({ origin }) => origin.lane)).toEqual(['main', 'main'])
    // It is not visible before the commit, because a draft may be discarded.
    const finish = log.find(({ chunk }) => chunk.type === 'step-finish')
    expect(callEntries.map(({ timestamp }) => timestamp)).toEqual(Array(2).fill(finish?.timestamp))
    expect(chunksOf(log, 'run-paused')).toMatchObject([{ awaits: [{ kind: 'client-tool', id: 'c1' }, { id: 'c2' }] }])
  })

  test('is not requested by a failed attempt', async () => {
    let attempts = 0
    const overloaded = new ProviderError('provider_overloaded', 'too much', { retryable: true })
    const model = scriptedModel(({ turnAnswers }) => {
      if (turnAnswers > 0) return { text: 'Done.' }
      const calls = [call('locate', `c${++attempts}`, { n: 1 })]
      return attempts === 1 ? { calls, error: overloaded } : { calls }
    })
    const { runtime, run } = await startRun(agent({ name: 'own', model, tools: [locate] }))
    expect((await run.result()).pendings.map(({ id }) => id)).toEqual(['c2'])
    expect(await codeOf(sendResult(runtime, 'c1'))).toBe('answer_unknown')
    await sendResult(runtime, 'c2')
    expect(await run.result()).toMatchObject({ status: 'completed' })
    await validLog(runtime)
  })

  test('is claimed by one client for a limited time, and can be extended by the same client', async () => {
    const { runtime, run } = await startRun(asking('c1').agent)
    await run.result()
    const claim = (by: string | undefined, guest = 'ada', forMs = 1000) =>
      runtime.claim('s', 'c1', { forMs, guest, ...(by !== undefined && { by }) })
    const { until } = await claim('tab 1')
    expect(until).toBeGreaterThan(0)
    expect(await callsIn(runtime)).toMatchObject({ c1: { claim: { until, by: 'tab 1' } } })
    expect(await codeOf(claim('tab 2'))).toBe('answer_claimed')
    expect(await codeOf(claim('tab 1', 'bob'))).toBe('answer_claimed')
    expect(await codeOf(claim(undefined))).toBe('answer_claimed')
    expect((await claim('tab 1', 'ada', 5000)).until).toBeGreaterThan(until)
    // A claim decides which client may start. A result counts from any client.
    await runtime.answer('s', { kind: 'tool-result', id: 'c1', output: 'Bern' }, { guest: 'bob' })
    expect(await run.result()).toMatchObject({ status: 'completed' })
    expect(await codeOf(claim('tab 1'))).toBe('answer_already_settled')
    expect(chunksOf(await validLog(runtime), 'tool-claimed')).toHaveLength(2)
  })

  test('rejects a claim with an invalid duration, or of an unknown call', async () => {
    const { tool: pay } = counted('pay', true)
    const { agent: testAgent } = caller([locate, pay], [call('locate', 'c1', { n: 1 }), call('pay', 'c2', { n: 1 })])
    const { runtime, run } = await startRun(testAgent)
    await run.result()
    const claim = (id: string, forMs: unknown) => codeOf(runtime.claim('s', id, { forMs: forMs as number }))
    for (const wrong of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '10', undefined]) {
      expect(await claim('c1', wrong)).toBe('validation_failed')
    }
    expect(await claim('c1', 3_600_001)).toBe('validation_failed')
    expect(await claim('c9', 1)).toBe('answer_unknown')
    expect(await claim('__proto__', 1)).toBe('answer_unknown')
    // A server tool waits for approval, not for a client.
    expect(await claim('c2', 1)).toBe('answer_wrong_kind')
    expect(await codeOf(runtime.claim('nowhere', 'c1', { forMs: 1 }))).toBe('session_unknown')
    expect(await codeOf(runtime.claim('s', 'c1', null as never))).toBe('validation_failed')
    expect(chunksOf(await validLog(runtime), 'tool-claimed')).toEqual([])
  })

  test('rejects results for server calls and for ended calls', async () => {
    const { tool: pay, ran } = counted('pay')
    const { agent: testAgent } = caller([locate, pay], [call('pay', 'c1', { n: 1 }), call('locate', 'c2', { n: 1 })])
    const { runtime, run } = await startRun(testAgent)
    await run.result()
    for (const answer of [{ output: 'forged' }, { error: 'forged' }]) {
      expect(await codeOf(runtime.answer('s', { kind: 'tool-result', id: 'c1', ...answer }))).toBe('answer_unknown')
    }
    expect(await callsIn(runtime)).toMatchObject({ c1: { output: 'pay 1' } })
    expect(ran).toEqual([1])
  })
})

describe('a client result', () => {
  test('settles calls in any order: the step continues after the last and is closed once', async () => {
    const orders = [
      ['c1', 'c2', 'c3'],
      ['c3', 'c1', 'c2'],
    ]
    for (const order of orders) {
      const { agent: testAgent, modelCalls } = asking('c1', 'c2', 'c3')
      const { runtime, run } = await startRun(testAgent)
      await run.result()
      for (const id of order.slice(0, 2)) {
        await sendResult(runtime, id, id)
        // The lane of the agent waits for all of its clients, so no driver starts early.
        const { ticket } = await runtime.view('s')
        expect(ticket).toMatchObject({ ready: false, run: { paused: true } })
        expect((await run.result()).status).toBe('paused')
      }
      await sendResult(runtime, order[2] as string, 'last')
      expect(await run.result()).toMatchObject({ status: 'completed' })
      const log = await validLog(runtime)
      expect(closedIn(log)).toEqual(['r/main/1', 'r/main/2'])
      expect(chunksOf(log, 'run-resumed')).toHaveLength(1)
      expect(Object.keys(resultsIn(modelCalls[1] as never)).sort()).toEqual(['c1', 'c2', 'c3'])
    }
  })

  test('settles independently of server calls and approvals in the same step', async () => {
    const free = counted('free')
    const approvedTool = counted('asked', true)
    const { agent: testAgent, modelCalls } = caller(
      [free.tool, approvedTool.tool, locate],
      [
        call('free', 'c1', { n: 1 }),
        call('asked', 'c2', { n: 2 }),
        call('locate', 'c3', { n: 3 }),
        call('asked', 'c4', { n: 4 }),
        call('locate', 'c5', { n: 5 }),
      ],
    )
    const { runtime, run } = await startRun(testAgent)
    expect(await run.result()).toMatchObject({
      suspended: { kind: 'suspended_step_partial', toolCallIds: ['c2', 'c3', 'c4', 'c5'], stepId: 'r/main/1' },
    })
    expect(free.ran).toEqual([1])
    await sendResult(runtime, 'c5', 'five')
    await approve(runtime, 'c4')
    expect(await run.result()).toMatchObject({ suspended: { toolCallIds: ['c2', 'c3'] } })
    await sendResult(runtime, 'c3', 'three')
    await approve(runtime, 'c2', false)
    expect(await run.result()).toMatchObject({ status: 'completed' })
    expect(approvedTool.ran).toEqual([4])
    expect(resultsIn(modelCalls[1] as never)).toMatchObject({
      c1: { value: 'free 1' },
      c2: { type: 'execution-denied' },
      c3: { value: 'three' },
      c4: { value: 'asked 4' },
      c5: { value: 'five' },
    })
    expect(closedIn(await validLog(runtime))).toEqual(['r/main/1', 'r/main/2'])
  })

  test('may be an error, with its own code or the default one', async () => {
    const { agent: testAgent, modelCalls } = asking('c1', 'c2', 'c3')
    const { runtime, run } = await startRun(testAgent)
    await run.result()
    await runtime.answer('s', { kind: 'tool-result', id: 'c1', error: 'no position' })
    await runtime.answer('s', { kind: 'tool-result', id: 'c2', error: 'cancelled', code: 'aborted' })
    await runtime.answer('s', { kind: 'tool-result', id: 'c3', error: '', code: 'gps_off' })
    expect(await run.result()).toMatchObject({ status: 'completed' })
    expect(await callsIn(runtime)).toMatchObject({
      c1: { state: 'output-error', errorText: 'no position', code: 'client_tool_failed' },
      c2: { state: 'output-error', code: 'aborted' },
      c3: { state: 'output-error', code: 'gps_off' },
    })
    expect(resultsIn(modelCalls[1] as never)).toMatchObject({ c1: { type: 'error-text', value: 'no position' } })
    for (const code of ['client_tool_timeout', 'client_tool_failed', 'aborted', 'interrupted']) {
      expect(CLIENT_TOOL_ERROR_CODES).toContain(code)
    }
  })

  test("is validated against the tool's schema before it is logged, also for a sub-agent", async () => {
    const typed = tool({
      name: 'typed',
      inputSchema: z.object({}),
      client: true,
      outputSchema: z.object({ city: z.string(), at: z.string().transform(at => new Date(at)) }),
    })
    const { agent: child } = scripted('child', [{ calls: [call('typed', 'c2')] }, { text: 'ok' }], { tools: [typed] })
    const { agent: testAgent } = scripted(
      'parent',
      [{ calls: [call('typed', 'c1'), call('child', 'cc', { prompt: 'go' })] }, { text: 'Done.' }],
      { tools: [typed], subAgents: [child] },
    )
    const { runtime, run } = await startRun(testAgent)
    await run.result()
    const fits = { city: 'Bern', at: '2030-01-01' }
    for (const id of ['c1', 'c2']) {
      for (const wrong of [null, 7, {}, { city: 7 }, [fits]]) {
        expect(await codeOf(sendResult(runtime, id, wrong as never))).toBe('answer_invalid')
      }
    }
    expect(chunksOf(await validLog(runtime), 'tool-output-available')).toEqual([])
    await sendResult(runtime, 'c1', fits)
    await sendResult(runtime, 'c2', fits)
    expect(await run.result()).toMatchObject({ status: 'completed' })
    // It is stored as it was sent.
    expect(await callsIn(runtime)).toMatchObject({ c1: { output: fits }, c2: { output: fits } })
  })

  test('is validated against the schema of the calling agent, not of another with the same name', async () => {
    const asks = (output: z.ZodType<unknown>, id: string) =>
      scripted('child', [{ calls: [call('typed', id)] }, { text: 'ok' }], {
        tools: [tool({ name: 'typed', inputSchema: z.object({}), client: true, outputSchema: output })],
      }).agent
    const { agent: testAgent } = scripted(
      'parent',
      [{ calls: ['a', 'b'].map(name => call(name, `c${name}`, { prompt: 'go' })) }, { text: 'Done.' }],
      {
        subAgents: [subAgent(asks(z.string(), 'ka'), { name: 'a' }), subAgent(asks(z.number(), 'kb'), { name: 'b' })],
      },
    )
    const { runtime, run } = await startRun(testAgent)
    await run.result()
    expect(await codeOf(sendResult(runtime, 'ka', 7))).toBe('answer_invalid')
    expect(await codeOf(sendResult(runtime, 'kb', 'seven'))).toBe('answer_invalid')
    await sendResult(runtime, 'kb', 7)
    await sendResult(runtime, 'ka', 'seven')
    let result = await run.result()
    while (result.status === 'paused') result = await run.result()
    expect(result.status).toBe('completed')
  })

  test('counts once: a repetition returns the first result, a different one is rejected', async () => {
    const { runtime, run } = await startRun(asking('c1', 'c2').agent)
    await run.result()
    const first = await sendResult(runtime, 'c1', { city: 'Bern', zip: 1 })
    expect(await sendResult(runtime, 'c1', { zip: 1, city: 'Bern' })).toEqual(first)
    expect(await codeOf(sendResult(runtime, 'c1', 'Basel'))).toBe('answer_already_settled')
    await sendResult(runtime, 'c2')
    await run.result()
    expect(await sendResult(runtime, 'c1', { city: 'Bern', zip: 1 })).toEqual(first)
    expect(await callsIn(runtime)).toMatchObject({ c1: { output: { city: 'Bern', zip: 1 } } })
  })

  test('settles no call of a later run with the same id as a rewound call', async () => {
    const { agent: testAgent } = asking('c1')
    const { runtime, run } = await startRun(testAgent, {}, { messageId: 'm1' })
    await run.result()
    const second = await runtime.edit('s', 'm1', 'Another.')
    expect((await second.result()).pendings.map(({ id }) => id)).toEqual(['c1-r1'])
    expect(await codeOf(sendResult(runtime, 'c1', 'late'))).toBe('answer_already_settled')
    const accepted = await sendResult(runtime, 'c1-r1', 'Bern')
    expect(await second.result()).toMatchObject({ status: 'completed' })
    const third = await runtime.retry('s')
    expect((await third.result()).pendings.map(({ id }) => id)).toEqual(['c1-r2'])
    await runtime.claim('s', 'c1-r2', { forMs: 60_000 })
    // A repeated answer returns the accepted one.
    expect(await sendResult(runtime, 'c1-r1', 'Bern')).toEqual(accepted)
    expect(await codeOf(sendResult(runtime, 'c1-r1', 'Basel'))).toBe('answer_already_settled')
    expect(await callsIn(runtime)).toMatchObject({ 'c1-r2': { state: 'input-available' } })
    await validLog(runtime)
  })

  test('is stored as a blob and passed to the model in full if it is larger than an entry', async () => {
    const { agent: testAgent, modelCalls } = asking('c1')
    const { runtime, run } = await startRun(testAgent)
    await run.result()
    await sendResult(runtime, 'c1', 'x'.repeat(200_000))
    expect(await run.result()).toMatchObject({ status: 'completed' })
    expect(JSON.stringify(resultsIn(modelCalls[1] as never)).length).toBeGreaterThan(200_000)
  })
})

test('requests as many of 300 calls as a ticket holds, and rejects the others', async () => {
  const { agent: testAgent, modelCalls } = asking(...Array.from({ length: 300 }, (_, n) => `c${n}`))
  const { runtime, run } = await startRun(testAgent)
  expect((await run.result()).pendings).toHaveLength(256)
  const { c255, c256 } = await callsIn(runtime)
  expect(c255?.state).toBe('input-available')
  expect(c256).toMatchObject({ state: 'output-error', errorText: expect.stringContaining('256') })
  await run.stop()
  await run.result()
  await validLog(runtime)
  await (await runtime.resume('s', 'r')).result()
  expect(Object.keys(resultsIn(modelCalls.at(-1) as never))).toHaveLength(300)
})

describe('approval of client tools', () => {
  test('rejects a result until the call is approved', async () => {
    const locate = tool({ name: 'locate', inputSchema: z.object({}), client: true, approval: true })
    const { agent: testAgent } = caller([locate], [call('locate', 'c1')])
    const { runtime, run } = await startRun(testAgent)
    const { pendings } = await run.result()
    expect(pendings.map(({ kind, id }) => [kind, id])).toEqual([['approval', 'r::c1']])
    expect(await codeOf(sendResult(runtime, 'c1'))).toBe('answer_unapproved')
    expect(await codeOf(runtime.claim('s', 'c1', { forMs: 1000 }))).toBe('answer_unapproved')
    await approve(runtime, 'c1')
    expect(await run.result()).toMatchObject({ status: 'paused', pendings: [{ kind: 'client-tool', id: 'c1' }] })
    await sendResult(runtime, 'c1', 'Bern')
    expect(await run.result()).toMatchObject({ status: 'completed' })
    expect(closedIn(await validLog(runtime))).toEqual(['r/main/1', 'r/main/2'])
  })

  test('settles a denied call and rejects its result', async () => {
    const locate = tool({ name: 'locate', inputSchema: z.object({}), client: true, approval: true })
    const { agent: testAgent, modelCalls } = caller([locate], [call('locate', 'c1')])
    const { runtime, run } = await startRun(testAgent)
    await run.result()
    await approve(runtime, 'c1', false, { reason: 'private' })
    expect(await run.result()).toMatchObject({ status: 'completed' })
    expect(await callsIn(runtime)).toMatchObject({ c1: { state: 'output-denied' } })
    expect(await codeOf(sendResult(runtime, 'c1'))).toBe('answer_already_settled')
    expect(resultsIn(modelCalls[1] as never)).toEqual({ c1: { type: 'execution-denied', reason: 'private' } })
    expect(closedIn(await validLog(runtime))).toEqual(['r/main/1', 'r/main/2'])
  })

  test('lets a rule decide without asking', async () => {
    const locate = tool({
      name: 'locate',
      inputSchema: z.object({ n: z.number() }),
      client: true,
      approval: ({ n }) => ({ approved: n === 1 }),
    })
    const { agent: testAgent } = caller([locate], [call('locate', 'c1', { n: 1 }), call('locate', 'c2', { n: 2 })])
    const { runtime, run } = await startRun(testAgent)
    expect(await run.result()).toMatchObject({ status: 'paused', pendings: [{ kind: 'client-tool', id: 'c1' }] })
    expect(await callsIn(runtime)).toMatchObject({ c2: { state: 'output-denied' } })
    await sendResult(runtime, 'c1')
    expect(await run.result()).toMatchObject({ status: 'completed' })
    expect(closedIn(await validLog(runtime))).toEqual(['r/main/1', 'r/main/2'])
  })
})

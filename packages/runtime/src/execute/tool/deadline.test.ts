// Deadlines by the store's clock, with virtual time. No driver runs while time passes.

import type { Chunk } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { call, closedIn, counted, scripted } from '../../api/pendings.fixture.ts'
import { codeOf } from '../../api/test-runtime.fixture.ts'
import { type Agent, agent } from '../../define/agent.ts'
import { tool } from '../../define/tool.ts'
import { settled } from '../../drive/clock.fixture.ts'
import { callsOf, expectOneEnd, type Process, VirtualCluster } from '../../drive/virtual-cluster.fixture.ts'
import { scriptedModel } from '../../model/scripted-model.ts'
import { caller, reportsOf, resultsIn } from '../agent/run-to-end.fixture.ts'

/** A paused run in virtual time. */
async function paused(testAgent: Agent): Promise<{ cluster: VirtualCluster; process: Process; at: number }> {
  const cluster = new VirtualCluster()
  const process = cluster.process(() => [testAgent])
  await process.runtime.start({ session: 's', runId: 'r', agent: testAgent, input: 'Go.' })
  const { timestamp } = await cluster.waitForEntry('s', ({ chunk }) => chunk.type === 'run-paused')
  await settled()
  return { cluster, process, at: timestamp }
}

const chunksIn = async <T extends Chunk['type']>(
  cluster: VirtualCluster,
  type: T,
): Promise<Extract<Chunk, { type: T }>[]> =>
  (await cluster.entries('s')).flatMap(({ chunk }) =>
    chunk.type === type ? [chunk as Extract<Chunk, { type: T }>] : [],
  )

/** Expects that the run completed and its log is valid. */
async function completed(cluster: VirtualCluster): Promise<void> {
  expect(await cluster.waitForEnd('s', 'r')).toBe('completed')
  await expectOneEnd(cluster, 's', 'r')
  const log = await cluster.entries('s')
  expect(reportsOf(log)).toEqual([])
  expect(closedIn(log)).toEqual(['r/main/1', 'r/main/2'])
}

describe('an approval', () => {
  test('is denied automatically if no answer arrives in time, with a reason for the model', async () => {
    const { ran, tool: pay } = counted('pay', { timeoutMs: 60_000 })
    const { agent: testAgent, modelCalls } = caller([pay], [call('pay', 'c1', { n: 1 })])
    const { cluster, at } = await paused(testAgent)
    const [request] = await chunksIn(cluster, 'tool-approval-request')
    expect(request?.deadline).toBe(at + 60_000)
    await cluster.clock.advance(59_000)
    expect(await chunksIn(cluster, 'tool-approval-response')).toEqual([])
    await completed(cluster)
    const reason = 'the request was not answered in time'
    expect(await chunksIn(cluster, 'tool-approval-response')).toEqual([
      {
        type: 'tool-approval-response',
        toolCallId: 'c1',
        approvalId: 'r::c1',
        approved: false,
        isAutomatic: true,
        reason,
      },
    ])
    expect(await chunksIn(cluster, 'tool-output-denied')).toEqual([
      { type: 'tool-output-denied', toolCallId: 'c1', reason },
    ])
    expect(resultsIn(modelCalls[1] as never)).toEqual({ c1: { type: 'execution-denied', reason } })
    expect(ran).toEqual([])
  })

  test('is late from its deadline, even if it is not settled yet', async () => {
    const { ran, tool: pay } = counted('pay', { timeoutMs: 60_000 })
    const { cluster, process } = await paused(caller([pay], [call('pay', 'c1', { n: 1 })]).agent)
    // No driver runs: the deadline in the log counts.
    process.kill()
    const server = cluster.process(() => [], { engine: false })
    await cluster.clock.advance(60_000)
    const answer = server.runtime.answer('s', { kind: 'approval', id: 'r::c1', approved: true })
    expect(await codeOf(answer)).toBe('answer_late')
    cluster.process(() => [caller([pay], [call('pay', 'c1', { n: 1 })]).agent])
    await completed(cluster)
    expect(ran).toEqual([])
    const again = server.runtime.answer('s', { kind: 'approval', id: 'r::c1', approved: true })
    expect(await codeOf(again)).toBe('answer_already_settled')
  })

  test('expires for one call and stays open for another', async () => {
    const short = counted('short', { timeoutMs: 1000 })
    const long = counted('long', { timeoutMs: 100_000 })
    const never = counted('never', true)
    const calls = ['short', 'long', 'never'].map((name, n) => call(name, `c${n}`, { n }))
    const { cluster, process } = await paused(caller([short.tool, long.tool, never.tool], calls).agent)
    await cluster.clock.advance(2000)
    expect((await cluster.view('s')).pendings.map(({ id }) => id)).toEqual(['r::c1', 'r::c2'])
    await process.runtime.answer('s', { kind: 'approval', id: 'r::c1', approved: true })
    // An answer in time is not reverted by the deadline.
    await cluster.clock.advance(200_000)
    expect(long.ran).toEqual([1])
    expect((await cluster.view('s')).pendings.map(({ id }) => id)).toEqual(['r::c2'])
    await process.runtime.answer('s', { kind: 'approval', id: 'r::c2', approved: true })
    await completed(cluster)
    expect([short.ran, long.ran, never.ran]).toEqual([[], [1], [2]])
  })

  test('expires while another call of the step runs, and then rejects answers', async () => {
    const short = counted('short', { timeoutMs: 1000 })
    const cluster = new VirtualCluster()
    let done = () => {}
    const slow = tool({
      name: 'slow',
      inputSchema: z.object({}),
      execute: () => new Promise<string>(resolve => (done = () => resolve('slowly'))),
    })
    const testAgent = caller([short.tool, slow], [call('short', 'c1', { n: 1 }), call('slow', 'c2')]).agent
    const { runtime } = cluster.process(() => [testAgent])
    await runtime.start({ session: 's', runId: 'r', agent: testAgent, input: 'Go.' })
    await cluster.waitForEntry('s', ({ chunk }) => chunk.type === 'tool-output-denied')
    expect(await chunksIn(cluster, 'run-paused')).toEqual([])
    expect(await codeOf(runtime.answer('s', { kind: 'approval', id: 'r::c1', approved: true }))).toBe(
      'answer_already_settled',
    )
    done()
    await completed(cluster)
    expect(short.ran).toEqual([])
  })

  test('expires for a call of a sub-agent, and its parent continues', async () => {
    const { tool: pay, ran } = counted('pay', { timeoutMs: 1000 })
    const child = scripted('child', [{ calls: [call('pay', 'c1', { n: 1 })] }, { text: 'not paid' }], { tools: [pay] })
    const scriptedAgent = scripted('parent', [{ calls: [call('child', 'cc', { prompt: 'pay' })] }, { text: 'Done.' }], {
      subAgents: [child.agent],
    })
    const { cluster } = await paused(scriptedAgent.agent)
    expect(await cluster.waitForEnd('s', 'r')).toBe('completed')
    await expectOneEnd(cluster, 's', 'r')
    expect(callsOf(await cluster.view('s'), 'r').map(({ toolCallId, state }) => [toolCallId, state])).toEqual([
      ['cc', 'output-available'],
      ['c1', 'output-denied'],
    ])
    expect(ran).toEqual([])
    expect(scriptedAgent.prompts[1]).toContain('not paid')
  })
})

describe('a client call', () => {
  const locating = (timeoutMs: number, approval?: true | { timeoutMs: number }) =>
    caller(
      [tool({ name: 'locate', inputSchema: z.object({}), client: true, timeoutMs, ...(approval && { approval }) })],
      [call('locate', 'c1')],
    )

  test('fails if no result arrives in time, with an error code for the model', async () => {
    const { agent: testAgent, modelCalls } = locating(5000)
    const { cluster, at } = await paused(testAgent)
    const [callChunk] = await chunksIn(cluster, 'tool-input-available')
    expect(callChunk).toMatchObject({ executor: 'client', deadline: at + 5000 })
    await completed(cluster)
    const errorText = 'no client sent a result in time'
    expect(callsOf(await cluster.view('s'), 'r')).toMatchObject([
      { state: 'output-error', errorText, code: 'client_tool_timeout', executor: 'client' },
    ])
    expect(resultsIn(modelCalls[1] as never)).toEqual({ c1: { type: 'error-text', value: errorText } })
  })

  test('accepts a result after the deadline until it is settled', async () => {
    const { agent: testAgent, modelCalls } = locating(5000)
    const { cluster, process } = await paused(testAgent)
    process.kill()
    const server = cluster.process(() => [], { engine: false })
    await cluster.clock.advance(50_000)
    // The work is done, but no client may claim the call any more.
    expect(await codeOf(server.runtime.claim('s', 'c1', { forMs: 1000 }))).toBe('answer_late')
    await server.runtime.answer('s', { kind: 'tool-result', id: 'c1', output: 'Bern' })
    cluster.process(() => [testAgent])
    await completed(cluster)
    expect(resultsIn(modelCalls[1] as never)).toEqual({ c1: { type: 'text', value: 'Bern' } })
    expect(await chunksIn(cluster, 'tool-output-error')).toEqual([])
  })

  test('rejects a result once the deadline is settled', async () => {
    const { cluster, process } = await paused(locating(5000).agent)
    await completed(cluster)
    const late = process.runtime.answer('s', { kind: 'tool-result', id: 'c1', output: 'Bern' })
    expect(await codeOf(late)).toBe('answer_already_settled')
  })

  test('counts its timeout from the deadline of its approval', async () => {
    const { cluster, process, at } = await paused(locating(5000, { timeoutMs: 60_000 }).agent)
    expect((await chunksIn(cluster, 'tool-input-available'))[0]?.deadline).toBe(at + 65_000)
    await cluster.clock.advance(50_000)
    await process.runtime.answer('s', { kind: 'approval', id: 'r::c1', approved: true })
    await cluster.clock.advance(10_000)
    await process.runtime.answer('s', { kind: 'tool-result', id: 'c1', output: 'Bern' })
    await completed(cluster)
    expect(await chunksIn(cluster, 'tool-output-error')).toEqual([])
  })

  test('can be claimed by another client only once the claim has expired', async () => {
    const { cluster, process } = await paused(locating(600_000).agent)
    const { runtime } = process
    const claim = (by: string) => runtime.claim('s', 'c1', { forMs: 10_000, by })
    await claim('tab 1')
    await cluster.clock.advance(9_999)
    expect(await codeOf(claim('tab 2'))).toBe('answer_claimed')
    await cluster.clock.advance(1)
    const { until } = await claim('tab 2')
    expect(until).toBe(cluster.clock.now() + 10_000)
    expect(await codeOf(claim('tab 1'))).toBe('answer_claimed')
    // The slow client has done the work anyway.
    await runtime.answer('s', { kind: 'tool-result', id: 'c1', output: 'Bern' }, { guest: 'tab 1' })
    await completed(cluster)
  })
})

test('counts the time of a run while it works, not while it waits', async () => {
  const { tool: pay } = counted('pay', true)
  const cluster = new VirtualCluster()
  const timers = cluster.clock.timers()
  const testAgent = agent({
    name: 'own',
    tools: [pay],
    budget: { timeMs: 10_000 },
    model: scriptedModel(
      ({ turnAnswers }) =>
        turnAnswers < 2
          ? { text: 'one two', calls: [call('pay', `c${turnAnswers}`, { n: 1 })] }
          : { text: 'one two three' },
      { paceMs: 1500, timers },
    ),
  })
  const { runtime } = cluster.process(() => [testAgent])
  const run = await runtime.start({ session: 's', runId: 'r', agent: testAgent, input: 'Go.' })
  for (const id of ['c0', 'c1']) {
    expect((await cluster.clock.until(run.result())).pendings.map(other => other.id)).toEqual([`r::${id}`])
    await cluster.clock.advance(3_600_000)
    await runtime.answer('s', { kind: 'approval', id: `r::${id}`, approved: true })
  }
  // Three steps of a few seconds each exceed the limit together; hours of waiting do not count.
  const result = await cluster.clock.until(run.result())
  expect(result).toMatchObject({ status: 'failed', error: { code: 'budget_time' } })
  expect(result.text).toContain('one twoone two')
  await expectOneEnd(cluster, 's', 'r')
})

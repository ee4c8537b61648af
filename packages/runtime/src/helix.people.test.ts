// The bugs of helix.test.ts that concern approvals, client tools and sub-agents.

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
  writerEntries,
} from './api/pendings.fixture.ts'
import { codeOf, countedStore, gate, logOf, until } from './api/test-runtime.fixture.ts'
import { agent } from './define/agent.ts'
import { tool } from './define/tool.ts'
import { settled } from './drive/clock.fixture.ts'
import { expectOneEnd, LEASE_MS, VirtualCluster } from './drive/virtual-cluster.fixture.ts'
import { caller, chunksOf, resultsIn } from './execute/agent/run-to-end.fixture.ts'
import { scriptedModel } from './model/scripted-model.ts'

const locate = tool({ name: 'locate', inputSchema: z.object({}), client: true, timeoutMs: 60_000 })

describe('a pending approval', () => {
  test('is not settled by a client result, and the tool runs (Helix 1)', async () => {
    const { ran, tool: pay } = counted('pay', true)
    const { runtime, run } = await startRun(caller([pay], [call('pay', 'c1', { n: 1 })]).agent)
    await run.result()
    const before = await logOf(runtime, 's')
    for (const forged of [{ output: 'paid' }, { error: 'not paid' }]) {
      for (const id of ['c1', 'r::c1']) {
        expect(await codeOf(runtime.answer('s', { kind: 'tool-result', id, ...forged }))).toBe('answer_wrong_kind')
      }
    }
    expect(await logOf(runtime, 's')).toEqual(before)
    await approve(runtime, 'c1')
    expect(await run.result()).toMatchObject({ status: 'completed' })
    expect(ran).toEqual([1])
    expect(await callsIn(runtime)).toMatchObject({ c1: { output: 'pay 1', executor: 'server' } })
  })

  test('does not settle a client call (Helix 1)', async () => {
    const { runtime, run } = await startRun(caller([locate], [call('locate', 'c1')]).agent)
    await run.result()
    for (const id of ['c1', 'r::c1']) {
      const code = await codeOf(runtime.answer('s', { kind: 'approval', id, approved: true }))
      expect(['answer_wrong_kind', 'answer_unknown']).toContain(code)
    }
    expect((await run.result()).pendings).toMatchObject([{ kind: 'client-tool', id: 'c1' }])
  })

  test('holds nothing in memory: no lease, watch or timer (Helix 22)', async () => {
    const cluster = new VirtualCluster()
    const { tool: pay } = counted('pay', true)
    const child = scripted('child', [{ calls: [call('pay', 'k1', { n: 1 })] }, { text: 'ok' }], { tools: [pay] })
    const scriptedAgent = scripted(
      'own',
      [{ calls: [subAgentCall('child', 'c1'), call('locate', 'c2')] }, { text: 'Done.' }],
      {
        tools: [locate],
        subAgents: [child.agent],
      },
    )
    const process = cluster.process(() => [scriptedAgent.agent])
    await settled()
    const idle = process.timers.pendingTimers.length
    await process.runtime.start({ session: 's', runId: 'r', agent: scriptedAgent.agent, input: 'Go.' })
    await cluster.waitForEntry('s', ({ chunk }) => chunk.type === 'run-paused')
    await cluster.clock.advance(10 * LEASE_MS)
    expect((await cluster.manager.getInfo('s'))?.lease).toBeNull()
    expect(process.connection.watches).toBe(0)
    expect(process.timers.pendingTimers.length).toBeLessThanOrEqual(idle)
    // So the process may be gone.
    process.kill()
    const nextProcess = cluster.process(() => [scriptedAgent.agent])
    await nextProcess.runtime.answer('s', { kind: 'approval', id: 'r::k1', approved: true })
    await nextProcess.runtime.answer('s', { kind: 'tool-result', id: 'c2', output: 'Bern' })
    expect(await cluster.waitForEnd('s', 'r')).toBe('completed')
    await expectOneEnd(cluster, 's', 'r')
  })

  test('leaves no watch of the requester (Helix 22)', async () => {
    const { store, watches } = countedStore()
    const { tool: pay } = counted('pay', true)
    const { run } = await startRun(caller([pay], [call('pay', 'c1', { n: 1 })]).agent, { store })
    await run.result()
    for await (const _ of run.stream());
    await settled()
    expect(watches()).toBe(0)
  })
})

describe('a pending client call', () => {
  test('accepts an answer after the deadline until it is settled (Helix 17)', async () => {
    const cluster = new VirtualCluster()
    const { agent: testAgent, modelCalls } = caller([locate], [call('locate', 'c1')])
    const owner = cluster.process(() => [testAgent])
    await owner.runtime.start({ session: 's', runId: 'r', agent: testAgent, input: 'Go.' })
    await cluster.waitForEntry('s', ({ chunk }) => chunk.type === 'run-paused')
    owner.kill()
    const server = cluster.process(() => [], { engine: false })
    await cluster.clock.advance(120_000)
    await server.runtime.answer('s', { kind: 'tool-result', id: 'c1', output: 'Bern' })
    cluster.process(() => [testAgent])
    expect(await cluster.waitForEnd('s', 'r')).toBe('completed')
    expect(resultsIn(modelCalls[1] as never)).toEqual({ c1: { type: 'text', value: 'Bern' } })
  })

  test('rejects a late answer with an error (Helix 17)', async () => {
    const cluster = new VirtualCluster()
    const { agent: testAgent } = caller([locate], [call('locate', 'c1')])
    const { runtime } = cluster.process(() => [testAgent])
    await runtime.start({ session: 's', runId: 'r', agent: testAgent, input: 'Go.' })
    expect(await cluster.waitForEnd('s', 'r')).toBe('completed')
    const before = await cluster.entries('s')
    const late = runtime.answer('s', { kind: 'tool-result', id: 'c1', output: 'Bern' })
    expect(await codeOf(late)).toBe('answer_already_settled')
    expect(await cluster.entries('s')).toEqual(before)
  })
})

describe('a sub-agent', () => {
  test('does not count as successful if it was interrupted (Helix 3)', async () => {
    const { tool: pay } = counted('pay', true)
    const child = scripted('child', [{ text: 'Half an answer', calls: [call('pay', 'k1', { n: 1 })] }], {
      tools: [pay],
    })
    const scriptedAgent = scripted('own', [{ calls: [subAgentCall('child', 'c1')] }, { text: 'Done.' }], {
      subAgents: [child.agent],
    })
    const { runtime, run } = await startRun(scriptedAgent.agent)
    await run.result()
    await run.stop()
    await run.result()
    const log = await validLog(runtime)
    const [end, ...more] = chunksOf(log, 'subagent-end')
    expect(more).toEqual([])
    expect(end).toMatchObject({ agentId: 'child:c1', status: 'interrupted' })
    expect(end?.result).toBeUndefined()
    expect(await callsIn(runtime)).toMatchObject({ c1: { state: 'output-error', code: 'interrupted' } })
    const again = await runtime.resume('s', 'r')
    await again.result()
    expect(scriptedAgent.prompts.at(-1)).not.toContain('Half an answer')
  })

  test('does not start before the commit of its call (Helix 12)', async () => {
    const { promise: seen, resolve } = Promise.withResolvers<string[]>()
    const child = agent({
      name: 'child',
      model: scriptedModel(async () => {
        resolve((await logOf(runtime, 's')).map(({ chunk }) => chunk.type))
        return { text: 'ok' }
      }),
    })
    const scriptedAgent = scripted('own', [{ calls: [subAgentCall('child', 'c1')] }, { text: 'Done.' }], {
      subAgents: [child],
    })
    const { runtime, run } = await startRun(scriptedAgent.agent)
    await run.result()
    const types = await seen
    const committed = types.indexOf('checkpoint-created')
    expect(types.indexOf('step-finish')).toBeLessThan(committed)
    expect(types.indexOf('subagent-start')).toBeGreaterThan(committed)
  })

  test('does not start if its call was only in a discarded attempt (Helix 12)', async () => {
    const begun: string[] = []
    const child = agent({
      name: 'child',
      model: scriptedModel(({ lastText }) => {
        begun.push(lastText)
        return { text: 'ok' }
      }),
    })
    let attempts = 0
    const testAgent = agent({
      name: 'own',
      subAgents: [child],
      model: scriptedModel(({ turnAnswers }) => {
        if (turnAnswers > 0) return { text: 'Done.' }
        const calls = [subAgentCall('child', `c${++attempts}`)]
        return attempts === 1
          ? { calls, error: Object.assign(new Error('cut off'), { code: 'ECONNRESET' }) }
          : { calls }
      }),
    })
    const { runtime, run } = await startRun(testAgent)
    expect(await run.result()).toMatchObject({ status: 'completed' })
    expect(begun).toEqual(['do c2'])
    const log = await validLog(runtime)
    expect(chunksOf(log, 'subagent-start').map(({ agentId }) => agentId)).toEqual(['child:c2'])
    expect((await runtime.view('s')).view.agents).toHaveLength(1)
  })

  test('does not start if the step was stopped before its commit (Helix 12)', async () => {
    const held = gate()
    const child = scripted('child', [{ text: 'ok' }])
    const testAgent = agent({
      name: 'own',
      subAgents: [child.agent],
      model: scriptedModel([{ text: 'Let me see.', calls: [subAgentCall('child', 'c1'), call('pay', 'c2')] }]),
      // The rule of another call delays the commit.
      tools: [
        tool({
          name: 'pay',
          inputSchema: z.object({}),
          approval: () => held.opened.then(() => true),
          execute: () => 1,
        }),
      ],
    })
    const { runtime, run } = await startRun(testAgent)
    await until(run, 'tool-input-available')
    await run.stop()
    expect(await run.result()).toMatchObject({ status: 'interrupted', text: 'Let me see.' })
    held.open()
    await settled()
    expect(child.prompts).toEqual([])
    const log = await validLog(runtime)
    expect(chunksOf(log, 'subagent-start')).toEqual([])
    expect(chunksOf(log, 'tool-approval-request')).toEqual([])
  })

  test('is not a session that can be entered by guessing its id (Helix 13)', async () => {
    const { tool: pay, ran } = counted('pay', true)
    const child = scripted('child', [{ calls: [call('pay', 'k1', { n: 1 })] }, { text: 'ok' }], { tools: [pay] })
    const scriptedAgent = scripted('own', [{ calls: [subAgentCall('child', 'c1')] }, { text: 'Done.' }], {
      subAgents: [child.agent],
    })
    const { runtime, run } = await startRun(scriptedAgent.agent, {}, { principal: 'ada' })
    await run.result()
    const before = await logOf(runtime, 's')
    const answer = { kind: 'approval', id: 'r::k1', approved: true } as const
    for (const id of ['child:c1', 'r::child:c1', 's/child:c1']) {
      expect(await codeOf(runtime.answer(id, answer))).toBe('session_unknown')
      expect(await codeOf(runtime.view(id))).toBe('session_unknown')
      expect(await codeOf(runtime.stop('s', id))).toBe('run_unknown')
      expect(await codeOf(runtime.resume('s', id))).toBe('run_unknown')
      expect(await codeOf(runtime.answer('s', { ...answer, id }))).toBe('answer_unknown')
    }
    // Its pendings are answered by the owner of the session.
    expect(await codeOf(runtime.answer('s', answer, { principal: 'bob' }))).toBe('answer_forbidden')
    expect(await logOf(runtime, 's')).toEqual(before)
    await runtime.answer('s', answer, { principal: 'ada' })
    expect(await run.result()).toMatchObject({ status: 'completed' })
    expect(ran).toEqual([1])
  })

  test('is stopped with its parent, even without a driver at the time of the stop (Helix 14)', async () => {
    const cluster = new VirtualCluster()
    let isAborted = false
    const begun = gate()
    const hangs = tool({
      name: 'hangs',
      inputSchema: z.object({}),
      execute(_, { abortSignal }) {
        begun.open()
        abortSignal.addEventListener('abort', () => (isAborted = true))
        return new Promise<never>(() => {})
      },
    })
    const child = scripted('child', [{ text: 'Half.', calls: [call('hangs', 'k1')] }], { tools: [hangs] })
    const scriptedAgent = scripted('own', [{ calls: [subAgentCall('child', 'c1')] }], { subAgents: [child.agent] })
    const owner = cluster.process(() => [scriptedAgent.agent])
    await owner.runtime.start({ session: 's', runId: 'r', agent: scriptedAgent.agent, input: 'Go.' })
    await cluster.clock.until(begun.opened)
    owner.kill()
    const server = cluster.process(() => [], { engine: false })
    expect(await server.runtime.stop('s', 'r')).toBe(true)
    // Any driver ends it, because the stop is in the log.
    cluster.process(() => [scriptedAgent.agent])
    expect(await cluster.waitForEnd('s', 'r')).toBe('interrupted')
    await expectOneEnd(cluster, 's', 'r')
    expect(chunksOf(await cluster.entries('s'), 'subagent-end')).toMatchObject([
      { agentId: 'child:c1', status: 'interrupted' },
    ])
    expect(child.prompts).toHaveLength(1)
    expect(isAborted).toBe(false)
  })

  test('continues after its process was lost, and its parent does not wait forever (Helix 14)', async () => {
    const cluster = new VirtualCluster()
    const words: string[] = []
    const agentWith = (timers: ReturnType<VirtualCluster['clock']['timers']>) => {
      const child = agent({
        name: 'child',
        model: scriptedModel(
          ({ key }) => {
            words.push(key)
            return { text: 'one two three' }
          },
          { paceMs: 100, timers },
        ),
      })
      return scripted('own', [{ calls: [subAgentCall('child', 'c1')] }, { text: 'Done.' }], { subAgents: [child] })
        .agent
    }
    const owner = cluster.process(timers => [agentWith(timers)])
    await owner.runtime.start({ session: 's', runId: 'r', agent: 'own', input: 'Go.' })
    await cluster.waitForEntry(
      's',
      ({ chunk, origin }) => chunk.type === 'text-delta' && 'agentId' in origin && origin.agentId === 'child:c1',
    )
    owner.kill()
    cluster.process(timers => [agentWith(timers)])
    expect(await cluster.waitForEnd('s', 'r')).toBe('completed')
    await expectOneEnd(cluster, 's', 'r')
    expect(new Set(words).size).toBe(1)
    const log = writerEntries(await cluster.entries('s'))
    expect(chunksOf(log, 'subagent-start')).toHaveLength(1)
    expect(chunksOf(log, 'subagent-end')).toMatchObject([{ status: 'completed', result: 'one two three' }])
  })

  test('keeps the shown text and no uncommitted state when its run is stopped (Helix 21)', async () => {
    const running = gate()
    const write = tool({
      name: 'write',
      inputSchema: z.object({}),
      async execute(_, { updateState }) {
        updateState(() => ({ wrote: true }))
        running.open()
        await new Promise(() => {})
      },
    })
    const child = scripted('child', [{ text: 'I write it down.', calls: [call('write', 'k1')] }], { tools: [write] })
    const scriptedAgent = scripted('own', [{ text: 'Asking.', calls: [subAgentCall('child', 'c1')] }], {
      subAgents: [child.agent],
      initialState: { wrote: false },
    })
    const { runtime, run } = await startRun(scriptedAgent.agent)
    await running.opened
    await run.stop()
    expect(await run.result()).toMatchObject({ status: 'interrupted', text: 'Asking.' })
    const { view } = await runtime.view('s')
    expect(view.state).toEqual({ wrote: false })
    const texts = view.messages.map(({ parts }) => parts.map(part => ('text' in part ? part.text : '')).join(''))
    expect(texts).toEqual(['Go.', 'Asking.', 'I write it down.'])
    await validLog(runtime)
  })
})

test('a run that fails while calls wait leaves none without an outcome (Helix 15)', async () => {
  const { tool: pay } = counted('pay', true)
  const child = scripted('child', [{ calls: [call('pay', 'k1', { n: 1 })] }], { tools: [pay] })
  let drives = 0
  const prompts: string[] = []
  const testAgent = agent({
    name: 'own',
    subAgents: [child.agent],
    tools: () => {
      if (++drives === 2) throw new Error('nothing can be called today')
      return [pay, locate]
    },
    model: scriptedModel(({ options, answers }) => {
      prompts.push(JSON.stringify(options.prompt))
      const calls = [call('pay', 'c1', { n: 1 }), call('locate', 'c2'), subAgentCall('child', 'c3')]
      return answers === 0 ? { text: 'Asking.', calls } : { text: 'better now' }
    }),
  })
  const { runtime, run } = await startRun(testAgent)
  expect((await run.result()).pendings).toHaveLength(3)
  await approve(runtime, 'c1')
  expect(await run.result()).toMatchObject({ status: 'failed', error: { code: 'agent_failed' } })
  for (const part of Object.values(await callsIn(runtime))) {
    expect(part).toMatchObject({ state: 'output-error', code: 'interrupted' })
  }
  expect(await codeOf(sendResult(runtime, 'c2'))).toBe('answer_already_settled')
  await validLog(runtime)
  const next = await runtime.start({ agent: testAgent, input: 'again', session: 's' })
  expect(await next.result()).toMatchObject({ status: 'completed', text: 'better now' })
  for (const type of ['tool-call', 'tool-result']) {
    expect(prompts.at(-1)?.split(`"type":"${type}"`)).toHaveLength(4)
  }
})

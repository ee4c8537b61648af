// When entries are discarded or rewound, and when not (law 3). The log contains everything that a reader needs to know.

import type { Chunk, Entry } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type AgentContext, agent } from '../define/agent.ts'
import { tool } from '../define/tool.ts'
import { ProviderError } from '../error/error.ts'
import type { Model } from '../model/model.ts'
import { type ScriptedAnswer, scriptedModel } from '../model/scripted-model.ts'
import { removalsIn, resyncsOf } from './rewinds.fixture.ts'
import { echo, gate, logOf, patient, testRuntime, typesOf, until } from './test-runtime.fixture.ts'

const look = tool({ name: 'look', inputSchema: z.object({}), execute: () => 'seen' })
const overloaded = () => new ProviderError('provider_overloaded', 'too much', { retryable: true })

/** An agent with two steps: a call and an answer. */
const looker = (answer: () => ScriptedAnswer | Promise<ScriptedAnswer> = () => ({ text: 'I saw it.' })) =>
  agent({
    name: 'looker',
    tools: [look],
    model: scriptedModel(({ options }) => {
      const last = options.prompt.at(-1)
      return last?.role === 'tool' ? answer() : { text: 'Let me look. ', calls: [{ name: 'look', input: {} }] }
    }),
  })

const find = (log: readonly Entry[], type: Chunk['type'], matches: (entry: Entry) => boolean = () => true) =>
  log.findLast(entry => entry.chunk.type === type && matches(entry))
const checkpoint = (log: readonly Entry[], id: string) =>
  find(log, 'checkpoint-created', ({ chunk }) => 'checkpointId' in chunk && chunk.checkpointId === id)?.sequence

/** The `stream_resync` of each discard or rewind that removed entries. */
function resyncs(log: readonly Entry[]) {
  for (const { removedCount } of removalsIn(log)) expect(removedCount).toBeGreaterThan(0)
  return resyncsOf(log)
}

describe('without a discard or rewind', () => {
  test('removes nothing for consecutive turns, tools, state, queues, stops and resumptions', async () => {
    const testAgent = patient(gate())
    const runtime = testRuntime({ agents: [looker(), echo, testAgent] })
    const turn = { session: 's', input: 'x' }
    for (let i = 0; i < 3; i++) await (await runtime.start({ ...turn, agent: 'looker' })).result()
    const first = await runtime.start({ ...turn, agent: 'patient', runId: 'p1' })
    await until(first, 'text-delta')
    const waits = await runtime.start({ ...turn, agent: 'echo', whenBusy: 'queue' })
    const stops = await runtime.start({ ...turn, agent: 'patient', runId: 'p2', whenBusy: 'interrupt-previous' })
    await until(stops, 'text-delta')
    await waits.stop()
    await stops.stop()
    await stops.result()
    const next = await runtime.resume('s', 'p2', { mode: 'with-message', input: 'go on', runId: 'p3' })
    await until(next, 'text-delta')
    await next.stop({ mode: 'abort' })
    await next.result()
    await (await runtime.start({ ...turn, agent: 'echo' })).result()
    const types = typesOf(await logOf(runtime, 's'))
    expect(types.filter(type => type === 'run-started')).toHaveLength(7)
    expect(types).not.toContain('rewind')
    expect(types).not.toContain('step-discarded')
  })

  test('removes nothing in a takeover without uncommitted entries', async () => {
    const modelCalled = gate()
    const agents = [looker(() => new Promise(() => modelCalled.open()))]
    const runtime = testRuntime({ agents })
    await runtime.start({ agent: 'looker', input: 'x', session: 's', runId: 'r' })
    await modelCalled.opened
    await runtime.close()
    const nextRuntime = testRuntime({ store: runtime.manager.store, agents: [looker()] })
    expect((await nextRuntime.run('s', 'r').result()).text).toBe('Let me look. I saw it.')
    const types = typesOf(await logOf(nextRuntime, 's'))
    expect(types).toContain('executor-superseded')
    expect(types).not.toContain('step-discarded')
  })

  test('removes nothing for an attempt that failed before its first delta', async () => {
    let calls = 0
    const testAgent = looker(() => {
      if (calls++ === 0) throw overloaded()
      return { text: 'I saw it.' }
    })
    const runtime = testRuntime({ agents: [testAgent] })
    const run = await runtime.start({ agent: testAgent, input: 'x', session: 's' })
    expect((await run.result()).status).toBe('completed')
    expect(calls).toBe(2)
    expect(typesOf(await logOf(runtime, 's'))).not.toContain('step-discarded')
  })
})

describe('removed entries, found by the log alone', () => {
  test('discards everything since the last commit after a crash', async () => {
    const held = gate()
    const testAgent = patient(held)
    const model = ({ step }: AgentContext) => (step === 1 ? looker().model : testAgent.model) as Model
    const agents = [agent({ name: 'looker', tools: [look], model })]
    const runtime = testRuntime({ agents })
    const run = await runtime.start({ agent: 'looker', input: 'x', session: 's', runId: 'r' })
    for await (const { chunk } of run.stream()) if (chunk.type === 'text-delta' && chunk.delta === 'one ') break
    await runtime.close()
    held.open()
    const nextRuntime = testRuntime({ store: runtime.manager.store, agents })
    expect((await nextRuntime.run('s', 'r').result()).text).toBe('Let me look. one two')
    const log = await logOf(nextRuntime, 's')
    expect(resyncs(log)).toEqual([
      {
        checkpointId: 'r/main/1',
        stepCount: 1,
        messageCount: 2,
        fromSequence: checkpoint(log, 'r/main/1'),
        reason: 'crash_recovery',
      },
    ])
  })

  test('rewinds to a checkpoint', async () => {
    const runtime = testRuntime({ agents: [looker(), echo] })
    const turn = { session: 's', input: 'x' }
    await (await runtime.start({ ...turn, agent: 'echo' })).result()
    await (await runtime.start({ ...turn, agent: 'looker', runId: 'r' })).result()
    await (await runtime.start({ ...turn, agent: 'echo' })).result()
    const options = { mode: 'from-checkpoint', checkpointId: 'r/main/1' } as const
    await (await runtime.resume('s', 'r', options)).result()
    const log = await logOf(runtime, 's')
    const fromSequence = checkpoint(log, 'r/main/1')
    expect(resyncs(log)).toEqual([
      { checkpointId: 'r/main/1', stepCount: 1, messageCount: 4, fromSequence, reason: 'rollback' },
    ])
    expect(find(log, 'rewind')?.chunk).toMatchObject({ toSequence: fromSequence })
  })

  test('rewinds to the end of the previous turn for a retry', async () => {
    const runtime = testRuntime({ agents: [looker(), echo] })
    await (await runtime.start({ agent: 'looker', input: 'x', session: 's', runId: 'r1' })).result()
    await (await runtime.start({ agent: 'echo', input: 'y', session: 's', runId: 'r2' })).result()
    await (await runtime.retry('s', 'r2')).result()
    const log = await logOf(runtime, 's')
    expect(resyncs(log)).toEqual([
      {
        checkpointId: 'r1/main/2',
        stepCount: 2,
        messageCount: 2,
        fromSequence: checkpoint(log, 'r1/main/2'),
        reason: 'retry',
      },
    ])
  })

  test('rewinds to an empty session for a retry of the first turn', async () => {
    const runtime = testRuntime({ agents: [echo] })
    await (await runtime.start({ agent: 'echo', input: 'y', session: 's', runId: 'r1' })).result()
    await (await runtime.retry('s')).result()
    const log = await logOf(runtime, 's')
    const begun = find(log, 'run-started', ({ origin }) => origin.runId === 'r1')?.sequence ?? 0
    expect(resyncs(log)).toEqual([
      { checkpointId: undefined, stepCount: 0, messageCount: 0, fromSequence: begun - 1, reason: 'retry' },
    ])
  })

  test('rewinds to the end of the previous turn for an edit', async () => {
    const runtime = testRuntime({ agents: [echo] })
    for (const id of ['1', '2']) {
      await (await runtime.start({ agent: 'echo', input: id, session: 's', runId: `r${id}`, messageId: id })).result()
    }
    await (await runtime.edit('s', '2', 'other')).result()
    const log = await logOf(runtime, 's')
    const fromSequence = checkpoint(log, 'r1/main/1')
    expect(resyncs(log)).toEqual([
      { checkpointId: 'r1/main/1', stepCount: 1, messageCount: 2, fromSequence, reason: 'branch' },
    ])
  })

  test('discards the streamed content of a failed attempt', async () => {
    let calls = 0
    const testAgent = looker(() => (calls++ === 0 ? { text: 'I s', error: overloaded() } : { text: 'I saw it.' }))
    const runtime = testRuntime({ agents: [testAgent] })
    await (await runtime.start({ agent: testAgent, input: 'x', session: 's', runId: 'r' })).result()
    const log = await logOf(runtime, 's')
    const fromSequence = checkpoint(log, 'r/main/1')
    expect(resyncs(log)).toEqual([
      { checkpointId: 'r/main/1', stepCount: 1, messageCount: 2, fromSequence, reason: 'retry' },
    ])
    expect(find(log, 'step-discarded')?.chunk).toMatchObject({ reason: 'provider_overloaded', attempt: 1 })
  })
})

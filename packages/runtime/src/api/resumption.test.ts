import type { Chunk, Entry } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../define/agent.ts'
import { tool } from '../define/tool.ts'
import { scriptedModel } from '../model/scripted-model.ts'
import type { Runtime } from './runtime.ts'
import {
  codeOf,
  echo,
  gate,
  logOf,
  patient,
  quiet,
  testRuntime,
  textsOf,
  typesOf,
  until,
} from './test-runtime.fixture.ts'

const count = tool({
  name: 'count',
  inputSchema: z.object({}),
  execute(_, { updateState }) {
    updateState(state => ({ n: ((state as { n?: number } | undefined)?.n ?? 0) + 1 }))
    return 'counted'
  },
})

/** Two steps that call a tool, and a third that answers. */
const counter = agent({
  name: 'counter',
  model: scriptedModel(({ answers }) =>
    answers % 3 < 2
      ? { text: `step ${answers + 1}. `, calls: [{ name: 'count', input: {}, id: `c${answers + 1}` }] }
      : { text: 'done' },
  ),
  tools: [count],
})

/** A session whose run was stopped after its first text. */
async function interrupted(more: readonly Parameters<typeof testRuntime>[0][] = []) {
  const held = gate()
  const prompts: string[] = []
  const testAgent = patient(held, prompt => prompts.push(prompt))
  const runtime = testRuntime({ agents: [testAgent, echo], ...more[0] })
  const run = await runtime.start({ agent: testAgent, input: 'hi', session: 's', runId: 'r1' })
  await until(run, 'text-delta')
  await run.stop()
  await run.result()
  held.open()
  return { runtime, run, testAgent, prompts }
}

/** The chunks of the first batch of a run. */
async function beginning(runtime: Runtime, runId: string): Promise<Chunk[]> {
  const log = await logOf(runtime, 's')
  const isStart = ({ chunk, origin }: Entry) => chunk.type === 'run-started' && origin.runId === runId
  const at = log.find(isStart)?.sequence ?? 0
  const page = await runtime.manager.store.read('s', { sequence: at - 1 }, { batches: 1, bytes: 1 })
  const { first = 0, last = 0 } = page?.batches[0] ?? {}
  return log.flatMap(({ chunk, sequence }) => (sequence >= first && sequence <= last ? [chunk] : []))
}

describe('resuming an interrupted run', () => {
  test('continue: continues after the streamed text', async () => {
    const { runtime, prompts } = await interrupted()
    const next = await runtime.resume('s', 'r1', { runId: 'r2' })
    expect((await next.result()).text).toBe('one two')
    expect(await textsOf(runtime, 's')).toEqual(['hi', 'one ', 'one two'])
    expect(prompts[1]).toContain('one ')
    expect(await beginning(runtime, 'r2')).toEqual([
      { type: 'run-started', program: 'agent:patient@1', resumes: 'r1' },
      // It was stopped before its first commit.
      { type: 'run-resumed', mode: 'continue', fromStepCount: 0 },
    ])
    const { view } = await runtime.view('s')
    expect(view.runs.map(({ runId, resumes }) => [runId, resumes])).toEqual([
      ['r1', undefined],
      ['r2', 'r1'],
    ])
  })

  test('with-message: adds the message at the start', async () => {
    const { runtime } = await interrupted()
    const options = { mode: 'with-message', input: 'rather so', messageId: 'm2', runId: 'r2' } as const
    await (await runtime.resume('s', 'r1', options)).result()
    const begun = await beginning(runtime, 'r2')
    expect(begun.map(({ type }) => type)).toEqual(['run-started', 'message', 'run-resumed'])
    expect(begun[1]).toMatchObject({ messageId: 'm2', role: 'user', parts: [{ text: 'rather so' }] })
    expect(begun[2]).toMatchObject({ mode: 'with-message' })
    expect(await textsOf(runtime, 's')).toEqual(['hi', 'one ', 'rather so', 'one two'])
  })

  test('with-confirmation: adds the decision and the reason', async () => {
    const { runtime } = await interrupted()
    const options = { mode: 'with-confirmation', approved: false, reason: 'too dear', runId: 'r2' } as const
    await (await runtime.resume('s', 'r1', options)).result()
    const [, message, resumed] = await beginning(runtime, 'r2')
    expect(message).toMatchObject({
      role: 'user',
      parts: [{ text: 'I do not confirm. too dear' }],
      metadata: { confirmation: { approved: false, reason: 'too dear' } },
    })
    expect(resumed).toMatchObject({ type: 'run-resumed', mode: 'with-confirmation' })
  })

  test('from-checkpoint: rewinds the session with its state, and refers to checkpoint and step', async () => {
    const runtime = testRuntime({ agents: [counter] })
    const run = await runtime.start({ agent: counter, input: 'go', session: 's', runId: 'r1' })
    expect((await run.result()).text).toBe('step 1. step 2. done')
    expect((await runtime.view('s')).view.state).toEqual({ n: 2 })
    const log = await logOf(runtime, 's')
    const checkpoint = log.find(
      ({ chunk }) => chunk.type === 'checkpoint-created' && chunk.checkpointId === 'r1/main/1',
    )
    const next = await runtime.resume('s', 'r1', { mode: 'from-checkpoint', checkpointId: 'r1/main/1', runId: 'r2' })
    const before = await runtime.manager.view('s', checkpoint?.sequence)
    expect((await next.result()).text).toBe('step 2. done')
    expect(await beginning(runtime, 'r2')).toEqual([
      { type: 'rewind', toSequence: checkpoint?.sequence, reason: 'from-checkpoint' },
      { type: 'run-started', program: counter.program, resumes: 'r1' },
      { type: 'run-resumed', mode: 'from-checkpoint', fromCheckpointId: 'r1/main/1', fromStepCount: 1 },
    ])
    expect(before.view.state).toEqual({ n: 1 })
    expect((await runtime.view('s')).view.state).toEqual({ n: 2 })
    expect(await textsOf(runtime, 's')).toEqual(['go', 'step 1. ', 'step 2. done'])
  })

  test('from-checkpoint without a run: resumes the run that made the checkpoint, and rewinds later turns', async () => {
    const runtime = testRuntime({ agents: [counter] })
    for (const runId of ['r1', 'r2', 'r3'])
      await (await runtime.start({ agent: counter, input: runId, session: 's', runId })).result()
    const options = { mode: 'from-checkpoint', checkpointId: 'r2/main/1', runId: 'r4' } as const
    const next = await runtime.resume('s', undefined, options)
    expect((await next.result()).status).toBe('completed')
    expect((await beginning(runtime, 'r4')).map(({ type }) => type)).toEqual(['rewind', 'run-started', 'run-resumed'])
    expect((await beginning(runtime, 'r4'))[1]).toMatchObject({ resumes: 'r2' })
    expect((await textsOf(runtime, 's')).filter(text => /^r/.test(text))).toEqual(['r1', 'r2'])
    // A repeated request returns its run; another one needs another id.
    expect((await runtime.resume('s', undefined, options)).runId).toBe('r4')
    expect(await codeOf(runtime.resume('s', undefined, { ...options, checkpointId: 'r1/main/1' }))).toBe('run_ended')
    for (const checkpointId of ['none', 'r3/main/1', 'r2/main/c4/1+'])
      expect([
        checkpointId,
        await codeOf(runtime.resume('s', undefined, { mode: 'from-checkpoint', checkpointId })),
      ]).toEqual([checkpointId, 'run_cut_refused'])
  })

  test('resumes the latest run if none is given', async () => {
    const { runtime } = await interrupted()
    const next = await runtime.resume('s', undefined, { runId: 'r2' })
    expect((await next.result()).text).toBe('one two')
    expect((await beginning(runtime, 'r2'))[0]).toMatchObject({ resumes: 'r1' })
    expect((await runtime.resume('s', undefined, { runId: 'r2' })).runId).toBe('r2')
    await runtime.manager.createStream('empty')
    expect(await codeOf(runtime.resume('empty', undefined))).toBe('run_unknown')
  })

  test('refers to the last checkpoint and step of the main lane, even if another process ended the run', async () => {
    const runtime = testRuntime({ engine: false })
    const { manager } = runtime
    const interruptedRun = await runtime.start({ agent: counter, input: 'go', session: 's', runId: 'r1' })
    const writer = await manager.createWriter('s', { runId: 'r1', program: counter.program, agentType: 'counter' })
    const confirmation = (checkpointId: string, stepCount: number): Chunk => ({
      type: 'checkpoint-created',
      checkpointId,
      stepCount,
      closesStep: true,
    })
    await writer.commit([confirmation('one', 1)])
    await writer.lane({ lane: 'main/c1' }).commit([confirmation('of a tool', 1)])
    await writer.write({ type: 'text-delta', id: 't', delta: 'more' })
    await writer.close()
    await interruptedRun.stop()
    const driver = testRuntime({ store: manager.store, agents: [counter] })
    await interruptedRun.result()
    await (await driver.resume('s', 'r1', { runId: 'r2' })).result()
    expect((await beginning(driver, 'r2')).at(-1)).toEqual({
      type: 'run-resumed',
      mode: 'continue',
      fromCheckpointId: 'one',
      fromStepCount: 1,
    })
  })

  test('law 3: rewinds nothing for a checkpoint at the end', async () => {
    const runtime = testRuntime({ agents: [counter] })
    const { text } = await (await runtime.start({ agent: counter, input: 'go', session: 's', runId: 'r1' })).result()
    const next = await runtime.resume('s', 'r1', { mode: 'from-checkpoint', checkpointId: 'r1/main/3', runId: 'r2' })
    await next.result()
    expect(typesOf(await logOf(runtime, 's'))).not.toContain('rewind')
    expect((await textsOf(runtime, 's'))[1]).toBe(text)
    expect((await beginning(runtime, 'r2')).at(-1)).toMatchObject({ fromCheckpointId: 'r1/main/3', fromStepCount: 3 })
  })

  test('resumes a run whose log was trimmed', async () => {
    const { runtime } = await interrupted()
    await runtime.manager.trimStream('s', { maxEntries: 0 })
    expect((await runtime.manager.getInfo('s'))?.floor).toBeGreaterThan(5)
    expect((await (await runtime.resume('s', 'r1')).result()).text).toBe('one two')
  })
})

describe('rejected resumptions', () => {
  test('rejects a resume of a run that is running, has ended or does not exist', async () => {
    const held = gate()
    const testAgent = patient(held)
    const runtime = testRuntime({ agents: [testAgent, echo] })
    const run = await runtime.start({ agent: testAgent, input: 'hi', session: 's', runId: 'r1' })
    await until(run, 'text-delta')
    expect(await codeOf(runtime.resume('s', 'r1'))).toBe('run_busy')
    held.open()
    await run.result()
    expect(await codeOf(runtime.resume('s', 'r1'))).toBe('run_not_resumable')
    expect(await codeOf(runtime.resume('s', 'r1', { mode: 'with-message', input: 'x' }))).toBe('run_not_resumable')
    const confirmation = { mode: 'with-confirmation', approved: true } as const
    expect(await codeOf(runtime.resume('s', 'r1', confirmation))).toBe('run_not_resumable')
    expect(await codeOf(runtime.resume('s', 'missing'))).toBe('run_unknown')
    expect(await codeOf(runtime.resume('nowhere', 'r1'))).toBe('session_unknown')
  })

  test('rejects a resume of an aborted run', async () => {
    const testAgent = patient(gate())
    const runtime = testRuntime({ agents: [testAgent] })
    const run = await runtime.start({ agent: testAgent, input: 'hi', session: 's' })
    await until(run, 'text-delta')
    await run.stop({ mode: 'abort' })
    expect((await run.result()).status).toBe('aborted')
    expect(await codeOf(runtime.resume('s', run.runId))).toBe('run_not_resumable')
  })

  test('rejects a resume of a run that was resumed before or that another run follows', async () => {
    const { runtime } = await interrupted()
    await (await runtime.start({ agent: echo, input: 'new', session: 's' })).result()
    expect(await codeOf(runtime.resume('s', 'r1'))).toBe('run_not_resumable')
    const other = await interrupted()
    await (await other.runtime.resume('s', 'r1', { runId: 'r2' })).result()
    expect(await codeOf(other.runtime.resume('s', 'r1', { runId: 'r3' }))).toBe('run_not_resumable')
    // A repeated request returns its run.
    expect((await other.runtime.resume('s', 'r1', { runId: 'r2' })).runId).toBe('r2')
    expect(await textsOf(other.runtime, 's')).toEqual(['hi', 'one ', 'one two'])
  })

  test('law 5: accepts one of two concurrent resumes', async () => {
    const { runtime } = await interrupted()
    const both = await Promise.allSettled([runtime.resume('s', 'r1'), runtime.resume('s', 'r1')])
    const [done, ...more] = both.flatMap(outcome => (outcome.status === 'fulfilled' ? [outcome.value] : []))
    expect(more).toEqual([])
    const refused = both.flatMap(outcome => (outcome.status === 'rejected' ? [outcome.reason.code] : []))
    expect(['run_busy', 'run_not_resumable']).toContain(refused[0])
    await done?.result()
    expect(await textsOf(runtime, 's')).toEqual(['hi', 'one ', 'one two'])
  })

  test('rejects a resume if another run is queued first', async () => {
    const { runtime, testAgent } = await interrupted([{}])
    const server = testRuntime({ store: runtime.manager.store, engine: false, logger: quiet })
    await runtime.close()
    await server.start({ agent: testAgent, input: 'next', session: 's' })
    expect(await codeOf(server.resume('s', 'r1'))).toBe('run_busy')
    expect(await codeOf(server.resume('s', 'r1', { whenBusy: 'queue' }))).toBe('run_busy')
  })

  test('rejects a checkpoint that is missing, of another run or session, or within a step', async () => {
    const runtime = testRuntime({ agents: [counter] })
    for (const runId of ['r1', 'r2']) {
      await (await runtime.start({ agent: counter, input: 'go', session: 's', runId })).result()
    }
    await (await runtime.start({ agent: counter, input: 'go', session: 'other', runId: 'r3' })).result()
    const refusals = ['none', 'r1/main/1', 'r3/main/1', 'r2/main/1+', 'r2/main/c4/1+']
    for (const checkpointId of refusals) {
      const code = await codeOf(runtime.resume('s', 'r2', { mode: 'from-checkpoint', checkpointId }))
      expect([checkpointId, code]).toEqual([checkpointId, 'run_cut_refused'])
    }
    expect(typesOf(await logOf(runtime, 's'))).not.toContain('rewind')
    await (await runtime.retry('s', 'r2', { runId: 'r4' })).result()
    const cut = await runtime.resume('s', 'r2', { mode: 'from-checkpoint', checkpointId: 'r2/main/1' }).catch(e => e)
    expect(cut).toMatchObject({ code: 'run_cut_refused', message: expect.stringContaining('r4') })
    await runtime.manager.trimStream('s', { maxEntries: 0 })
    const resumeError = await runtime
      .resume('s', 'r1', { mode: 'from-checkpoint', checkpointId: 'r1/main/1' })
      .catch(e => e)
    expect(resumeError).toMatchObject({ code: 'run_cut_refused', message: expect.stringContaining('trimmed') })
  })
})

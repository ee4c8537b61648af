// Paused runs can be stopped, replaced, retried, forked and resumed, and nothing stays open.

import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { tool } from '../define/tool.ts'
import { chunksOf } from '../execute/agent/run-to-end.fixture.ts'
import {
  approve,
  call,
  callsIn,
  closedIn,
  counted,
  scripted,
  sendResult,
  startRun,
  subAgentCall,
  validLog,
} from './pendings.fixture.ts'
import { codeOf, echo, testRuntime, textsOf } from './test-runtime.fixture.ts'

/** A run with an open approval, an open client call, an open approval of a sub-agent, and a finished call. */
async function open() {
  const free = counted('free')
  const pay = counted('pay', true)
  const locate = tool({ name: 'locate', inputSchema: z.object({}), client: true })
  const child = scripted('child', [{ text: 'Paying. ', calls: [call('pay', 'k1', { n: 9 })] }, { text: 'paid' }], {
    tools: [pay.tool],
  })
  const testAgent = scripted(
    'parent',
    [
      {
        text: 'Let me see.',
        calls: [
          call('free', 'c1', { n: 1 }),
          call('pay', 'c2', { n: 2 }),
          call('locate', 'c3'),
          subAgentCall('child', 'c4'),
        ],
      },
      { text: 'Done.' },
    ],
    { tools: [free.tool, pay.tool, locate], subAgents: [child.agent] },
  )
  const begun = await startRun(testAgent.agent, { agents: [testAgent.agent, echo] }, { messageId: 'm1' })
  const paused = await begun.run.result()
  expect(paused.status).toBe('paused')
  return { ...begun, testAgent, free, pay, paused }
}

/** Expects that no pending of the run can be answered. */
async function expectSettled(runtime: Awaited<ReturnType<typeof open>>['runtime'], session = 's'): Promise<void> {
  for (const id of ['r::c2', 'r::k1']) {
    expect(await codeOf(runtime.answer(session, { kind: 'approval', id, approved: true }))).toBe(
      'answer_already_settled',
    )
  }
  expect(await codeOf(runtime.answer(session, { kind: 'tool-result', id: 'c3', output: 1 }))).toBe(
    'answer_already_settled',
  )
  expect(await codeOf(runtime.claim(session, 'c3', { forMs: 10 }))).toBe('answer_already_settled')
}

/** Expects that waiting calls were interrupted and finished ones kept. */
async function expectCutOff(runtime: Awaited<ReturnType<typeof open>>['runtime'], session = 's'): Promise<void> {
  const { c1, ...others } = await callsIn(runtime, session)
  expect(c1).toMatchObject({ state: 'output-available', output: 'free 1' })
  expect(Object.keys(others).sort()).toEqual(['c2', 'c3', 'c4', 'k1'])
  for (const part of Object.values(others)) expect(part).toMatchObject({ state: 'output-error', code: 'interrupted' })
}

describe('a paused run', () => {
  test.each(['interrupt', 'abort'] as const)(
    'settles every call and ends the sub-agents when it is stopped by %s',
    async mode => {
      const { runtime, run, pay } = await open()
      expect(await run.stop({ mode })).toBe(true)
      const status = mode === 'abort' ? 'aborted' : 'interrupted'
      expect(await run.result()).toMatchObject({ status, text: 'Let me see.', pendings: [] })
      expect((await run.result()).suspended).toBeUndefined()
      const log = await validLog(runtime)
      expect(chunksOf(log, 'subagent-end')).toMatchObject([{ agentId: 'child:c4', status }])
      await expectCutOff(runtime)
      await expectSettled(runtime)
      expect(await runtime.stop('s', 'r', { guest: 'bob' })).toBe(false)
      expect(pay.ran).toEqual([])
    },
  )

  test('can be stopped if no process has its program', async () => {
    const { runtime, run } = await open()
    await runtime.close()
    const other = testRuntime({ store: runtime.manager.store, agents: [echo] })
    expect(await other.stop('s', 'r')).toBe(true)
    expect((await other.run('s', 'r').result()).status).toBe('interrupted')
    await validLog(other)
    await expectSettled(other)
    expect(run.runId).toBe('r')
  })

  test('rejects another start, or is interrupted by it', async () => {
    const { runtime, run } = await open()
    const next = { agent: echo, input: 'hello', session: 's' }
    expect(await codeOf(runtime.start(next))).toBe('run_busy')
    expect(await codeOf(runtime.resume('s', 'r'))).toBe('run_busy')
    expect(await codeOf(runtime.resume('s', 'r', { mode: 'with-message', input: 'x' }))).toBe('run_busy')
    const other = await runtime.start({ ...next, whenBusy: 'interrupt-previous' })
    expect(await other.result()).toMatchObject({ status: 'completed' })
    expect(await run.result()).toMatchObject({ status: 'interrupted' })
    await validLog(runtime)
    await expectCutOff(runtime)
    await expectSettled(runtime)
  })

  test('starts queued requests after it ends', async () => {
    const { runtime, run } = await open()
    const queued = await runtime.start({ agent: echo, input: 'later', session: 's', whenBusy: 'queue' })
    expect((await runtime.view('s')).ticket).toMatchObject({ run: { runId: 'r', paused: true } })
    for (const id of ['c2', 'k1']) await approve(runtime, id)
    await sendResult(runtime, 'c3')
    expect(await queued.result()).toMatchObject({ status: 'completed' })
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'Let me see.Done.' })
  })

  test('is replaced by a retry with the same message and new calls', async () => {
    const { runtime, run, pay, testAgent } = await open()
    const again = await runtime.retry('s', 'r', { runId: 'r2' })
    const paused = await again.result()
    expect(paused).toMatchObject({ status: 'paused', suspended: { kind: 'suspended_step_partial' } })
    expect(await run.result()).toMatchObject({ status: 'interrupted' })
    expect(paused.pendings.map(({ id }) => id)).toEqual(expect.arrayContaining(['r2::c2', 'c3-r1', 'r2::k1']))
    // An approval of the old run does not apply to the new one.
    expect(await codeOf(approve(runtime, 'c2'))).toBe('answer_already_settled')
    expect(pay.ran).toEqual([])
    for (const id of ['r2::c2', 'r2::k1']) await runtime.answer('s', { kind: 'approval', id, approved: true })
    expect(await codeOf(sendResult(runtime, 'c3'))).toBe('answer_already_settled')
    await sendResult(runtime, 'c3-r1')
    let result = await again.result()
    while (result.status === 'paused') result = await again.result()
    expect(result.status).toBe('completed')
    expect(pay.ran.sort()).toEqual([2, 9])
    await validLog(runtime)
    expect(await textsOf(runtime, 's')).toEqual(['Go.', 'Let me see.Done.', 'Paying. paid'])
    // Its prompt does not contain the first answer.
    expect(testAgent.prompts.at(-2)).not.toContain('ended before')
  })

  test('is replaced by an edit', async () => {
    const { runtime, run } = await open()
    const edited = await runtime.edit('s', 'm1', 'Do nothing.', { runId: 'r2' })
    expect(await edited.result()).toMatchObject({ status: 'paused' })
    expect(await run.result()).toMatchObject({ status: 'interrupted' })
    expect(await codeOf(approve(runtime, 'k1'))).toBe('answer_already_settled')
    expect((await textsOf(runtime, 's'))[0]).toBe('Do nothing.')
    await edited.stop()
    await edited.result()
    await validLog(runtime)
  })

  test('is copied by a fork as interrupted: answers there are rejected, and the source keeps waiting', async () => {
    const { runtime, run, pay } = await open()
    const fork = await runtime.fork('s', { session: 'f' })
    const { view, ticket } = await runtime.view(fork)
    expect(view.runs).toMatchObject([{ runId: 'r', status: 'interrupted' }])
    expect([view.pendings, ticket.pendings, ticket.run]).toEqual([[], [], null])
    await expectCutOff(runtime, 'f')
    await expectSettled(runtime, 'f')
    await validLog(runtime, 'f')
    expect((await run.result()).pendings).toHaveLength(3)
    const there = await runtime.resume('f', 'r', { runId: 'r2' })
    expect(await there.result()).toMatchObject({ status: 'completed', text: 'Done.' })
    for (const id of ['c2', 'k1']) await approve(runtime, id)
    await sendResult(runtime, 'c3')
    let result = await run.result()
    while (result.status === 'paused') result = await run.result()
    expect(result.status).toBe('completed')
    expect(pay.ran.sort()).toEqual([2, 9])
  })

  test('is resumed after a stop by another run, whose model gets the interrupted calls', async () => {
    const { runtime, run, testAgent, pay } = await open()
    await run.stop()
    await run.result()
    const next = await runtime.resume('s', 'r', { runId: 'r2', mode: 'with-message', input: 'Never mind.' })
    await next.result()
    const sent = JSON.parse(testAgent.prompts.at(-1) as string) as { role: string; content: { type: string }[] }[]
    const parts = sent.flatMap(({ content }) => content)
    // Each call has its outcome.
    expect(parts.filter(({ type }) => type === 'tool-call')).toHaveLength(4)
    expect(parts.filter(({ type }) => type === 'tool-result')).toHaveLength(4)
    expect(pay.ran).toEqual([])
  })

  test('rejects a rewind to a step with open calls', async () => {
    const { runtime, run } = await open()
    await run.stop()
    await run.result()
    const from = (checkpointId: string) => runtime.resume('s', 'r', { mode: 'from-checkpoint', checkpointId })
    expect(await codeOf(from('r/main/1+'))).toBe('run_cut_refused')
    expect(await codeOf(from('r/main/c4/1'))).toBe('run_cut_refused')
  })

  test('continues with a confirmation that answers all approvals, and only these', async () => {
    const { runtime, run, pay } = await open()
    const same = await runtime.resume('s', 'r', { mode: 'with-confirmation', approved: true, reason: 'go ahead' })
    expect(same.runId).toBe('r')
    let result = await run.result()
    while (result.pendings.length > 1) result = await run.result()
    expect(result).toMatchObject({ status: 'paused', pendings: [{ kind: 'client-tool', id: 'c3' }] })
    expect(pay.ran.sort()).toEqual([2, 9])
    // No approval is left.
    expect(await codeOf(runtime.resume('s', 'r', { mode: 'with-confirmation', approved: true }))).toBe('run_busy')
    await sendResult(runtime, 'c3')
    expect(await run.result()).toMatchObject({ status: 'completed' })
    const log = await validLog(runtime)
    expect(chunksOf(log, 'tool-approval-response').map(({ approved, reason }) => [approved, reason])).toEqual([
      [true, 'go ahead'],
      [true, 'go ahead'],
    ])
    // It is the same run, so there is one request and one message.
    expect(chunksOf(log, 'run-requested')).toHaveLength(1)
    expect(closedIn(log).filter(id => !id.includes('c4'))).toEqual(['r/main/1', 'r/main/2'])
  })

  test('continues with a confirmation if one approval is answered meanwhile', async () => {
    const { runtime, run, pay } = await open()
    const { manager } = runtime
    const append = manager.append.bind(manager)
    manager.append = async (...args) => {
      manager.append = append
      const { pendings } = (await runtime.view('s')).ticket
      const [first = ''] = pendings.flatMap(({ kind, id }) => (kind === 'approval' ? [id] : []))
      const elsewhere = testRuntime({ store: manager.store, engine: false })
      await elsewhere.answer('s', { kind: 'approval', id: first, approved: false }, { guest: 'bob' })
      return append(...args)
    }
    await runtime.resume('s', 'r', { mode: 'with-confirmation', approved: true })
    await sendResult(runtime, 'c3')
    let result = await run.result()
    while (result.status === 'paused') result = await run.result()
    expect(result.status).toBe('completed')
    // One was denied first.
    expect(pay.ran).toHaveLength(1)
  })

  test('continues with a denial of all approvals', async () => {
    const { runtime, run, pay } = await open()
    await runtime.resume('s', 'r', { mode: 'with-confirmation', approved: false })
    await sendResult(runtime, 'c3')
    let result = await run.result()
    while (result.status === 'paused') result = await run.result()
    expect(result.status).toBe('completed')
    expect(pay.ran).toEqual([])
    expect(await callsIn(runtime)).toMatchObject({ c2: { state: 'output-denied' }, k1: { state: 'output-denied' } })
  })
})

describe('a run with several pauses', () => {
  /** Waits for an approval in each step. */
  const steps = () => {
    const { tool: pay, ran } = counted('pay', true)
    const answers = [1, 2, 3].map(n => ({ text: `step ${n}. `, calls: [call('pay', `c${n}`, { n })] }))
    return { ran, testAgent: scripted('stepper', [...answers, { text: 'Done.' }], { tools: [pay] }).agent }
  }

  test('result() returns each pause and then the end', async () => {
    const { testAgent } = steps()
    const { runtime, run } = await startRun(testAgent)
    for (const n of [1, 2, 3]) {
      const paused = await run.result()
      expect(paused).toMatchObject({
        status: 'paused',
        pendings: [{ id: `r::c${n}` }],
        output: undefined,
        error: undefined,
      })
      // Another call, here or elsewhere, returns the same.
      expect(await runtime.run('s', 'r').result()).toEqual(paused)
      expect(await runtime.status('s')).toMatchObject({ status: 'paused' })
      await approve(runtime, `c${n}`)
    }
    expect(await run.result()).toMatchObject({
      status: 'completed',
      text: 'step 1. step 2. step 3. Done.',
      pendings: [],
    })
    expect(chunksOf(await validLog(runtime), 'run-paused')).toHaveLength(3)
  })

  test('stream() ends at each pause and continues after a cursor, with every entry once', async () => {
    const { testAgent } = steps()
    const { runtime, run } = await startRun(testAgent)
    const read: number[] = []
    let after: string | undefined
    for (const n of [1, 2, 3, 4]) {
      let last = ''
      for await (const entry of run.stream(after === undefined ? {} : { after })) {
        read.push(entry.sequence)
        after = entry.cursor
        last = entry.chunk.type
      }
      expect(last).toBe(n < 4 ? 'run-paused' : 'run-finished')
      if (n < 4) await approve(runtime, `c${n}`)
    }
    const all: number[] = []
    for await (const { sequence } of run.stream()) all.push(sequence)
    expect(all.at(-1)).toBe(read.at(-1))
    expect(new Set(read).size).toBe(read.length)
    expect([...read].sort((a, b) => a - b)).toEqual(read)
  })

  test('sends every entry to a permanent reader, including the answers', async () => {
    const { testAgent } = steps()
    const { runtime, run } = await startRun(testAgent)
    const seen: string[] = []
    const reader = await runtime.manager.createResumableReader('s', { after: 0, follow: true })
    for await (const { chunk } of reader) {
      seen.push(chunk.type)
      if (chunk.type === 'run-paused') await approve(runtime, `c${seen.filter(type => type === 'run-paused').length}`)
      if (chunk.type === 'run-finished') break
    }
    expect(seen.filter(type => type === 'tool-approval-response')).toHaveLength(3)
    expect(seen.filter(type => type === 'run-resumed')).toHaveLength(3)
    expect(await run.result()).toMatchObject({ status: 'completed' })
  })
})

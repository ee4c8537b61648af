// A run that waits is a run like any other: it can be stopped, overtaken, done again, branched and gone on with, and nothing of it is left open.

import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { tool } from '../define/tool.ts'
import { chunksOf } from '../execute/agent/play.fixture.ts'
import { approve, ask, begin, call, callsIn, closedIn, counted, give, scripted, soundLog } from './people.fixture.ts'
import { codeOf, echo, testRuntime, textsOf } from './test-runtime.fixture.ts'

/** A run in which all kinds of things are open: an approval, a client's tool, an approval of a sub-agent's; and one call is done. */
async function open() {
  const free = counted('free')
  const pay = counted('pay', true)
  const locate = tool({ name: 'locate', inputSchema: z.object({}), client: true })
  const child = scripted('child', [{ text: 'Paying. ', calls: [call('pay', 'k1', { n: 9 })] }, { text: 'paid' }], {
    tools: [pay.tool],
  })
  const own = scripted(
    'parent',
    [
      {
        text: 'Let me see.',
        calls: [call('free', 'c1', { n: 1 }), call('pay', 'c2', { n: 2 }), call('locate', 'c3'), ask('child', 'c4')],
      },
      { text: 'Done.' },
    ],
    { tools: [free.tool, pay.tool, locate], subAgents: [child.agent] },
  )
  const begun = await begin(own.agent, { agents: [own.agent, echo] }, { messageId: 'm1' })
  const paused = await begun.run.result()
  expect(paused.status).toBe('paused')
  return { ...begun, own, free, pay, paused }
}

/** Nobody can answer any more what the run waited for. */
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

/** The calls that the run waited for were cut off, and what was done stays done. */
async function expectCutOff(runtime: Awaited<ReturnType<typeof open>>['runtime'], session = 's'): Promise<void> {
  const { c1, ...others } = await callsIn(runtime, session)
  expect(c1).toMatchObject({ state: 'output-available', output: 'free 1' })
  expect(Object.keys(others).sort()).toEqual(['c2', 'c3', 'c4', 'k1'])
  for (const part of Object.values(others)) expect(part).toMatchObject({ state: 'output-error', code: 'interrupted' })
}

describe('a paused run', () => {
  test.each(['interrupt', 'abort'] as const)(
    'that is stopped by %s: every call is settled, and its sub-agents end',
    async mode => {
      const { runtime, run, pay } = await open()
      expect(await run.stop({ mode })).toBe(true)
      const status = mode === 'abort' ? 'aborted' : 'interrupted'
      expect(await run.result()).toMatchObject({ status, text: 'Let me see.', pendings: [] })
      expect((await run.result()).suspended).toBeUndefined()
      const log = await soundLog(runtime)
      expect(chunksOf(log, 'subagent-end')).toMatchObject([{ agentId: 'child:c4', status }])
      await expectCutOff(runtime)
      await expectSettled(runtime)
      expect(await runtime.stop('s', 'r', { guest: 'bob' })).toBe(false)
      expect(pay.ran).toEqual([])
    },
  )

  test('whose program nobody has can still be stopped', async () => {
    const { runtime, run } = await open()
    await runtime.close()
    const other = testRuntime({ store: runtime.manager.store, agents: [echo] })
    expect(await other.stop('s', 'r')).toBe(true)
    expect((await other.run('s', 'r').result()).status).toBe('interrupted')
    await soundLog(other)
    await expectSettled(other)
    expect(run.runId).toBe('r')
  })

  test('refuses another start, and makes room where it is asked to', async () => {
    const { runtime, run } = await open()
    const next = { agent: echo, input: 'hello', session: 's' }
    expect(await codeOf(runtime.start(next))).toBe('run_busy')
    expect(await codeOf(runtime.resume('s', 'r'))).toBe('run_busy')
    expect(await codeOf(runtime.resume('s', 'r', { mode: 'with-message', input: 'x' }))).toBe('run_busy')
    const other = await runtime.start({ ...next, whenBusy: 'interrupt-previous' })
    expect(await other.result()).toMatchObject({ status: 'completed' })
    expect(await run.result()).toMatchObject({ status: 'interrupted' })
    await soundLog(runtime)
    await expectCutOff(runtime)
    await expectSettled(runtime)
  })

  test('lets others wait in line, and they run after it', async () => {
    const { runtime, run } = await open()
    const queued = await runtime.start({ agent: echo, input: 'later', session: 's', whenBusy: 'queue' })
    expect((await runtime.view('s')).ticket).toMatchObject({ run: { runId: 'r', paused: true } })
    for (const id of ['c2', 'k1']) await approve(runtime, id)
    await give(runtime, 'c3')
    expect(await queued.result()).toMatchObject({ status: 'completed' })
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'Let me see.Done.' })
  })

  test('is done again by a retry: with the same message, its own calls, and nothing left of the old', async () => {
    const { runtime, run, pay, own } = await open()
    const again = await runtime.retry('s', 'r', { runId: 'r2' })
    const paused = await again.result()
    expect(paused).toMatchObject({ status: 'paused', suspended: { kind: 'suspended_step_partial' } })
    expect(await run.result()).toMatchObject({ status: 'interrupted' })
    expect(paused.pendings.map(({ id }) => id)).toEqual(expect.arrayContaining(['r2::c2', 'c3-r1', 'r2::k1']))
    // An approval of the old run is none of the new.
    expect(await codeOf(approve(runtime, 'c2'))).toBe('answer_already_settled')
    expect(pay.ran).toEqual([])
    for (const id of ['r2::c2', 'r2::k1']) await runtime.answer('s', { kind: 'approval', id, approved: true })
    expect(await codeOf(give(runtime, 'c3'))).toBe('answer_already_settled')
    await give(runtime, 'c3-r1')
    let result = await again.result()
    while (result.status === 'paused') result = await again.result()
    expect(result.status).toBe('completed')
    expect(pay.ran.sort()).toEqual([2, 9])
    await soundLog(runtime)
    expect(await textsOf(runtime, 's')).toEqual(['Go.', 'Let me see.Done.', 'Paying. paid'])
    // It was not shown what came of the first try.
    expect(own.prompts.at(-2)).not.toContain('ended before')
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
    await soundLog(runtime)
  })

  test('is copied by a fork as one that was interrupted: who answers there is told, and the source waits on', async () => {
    const { runtime, run, pay } = await open()
    const fork = await runtime.fork('s', { session: 'f' })
    const { view, ticket } = await runtime.view(fork)
    expect(view.runs).toMatchObject([{ runId: 'r', status: 'interrupted' }])
    expect([view.pendings, ticket.pendings, ticket.run]).toEqual([[], [], null])
    await expectCutOff(runtime, 'f')
    await expectSettled(runtime, 'f')
    await soundLog(runtime, 'f')
    expect((await run.result()).pendings).toHaveLength(3)
    const there = await runtime.resume('f', 'r', { runId: 'r2' })
    expect(await there.result()).toMatchObject({ status: 'completed', text: 'Done.' })
    for (const id of ['c2', 'k1']) await approve(runtime, id)
    await give(runtime, 'c3')
    let result = await run.result()
    while (result.status === 'paused') result = await run.result()
    expect(result.status).toBe('completed')
    expect(pay.ran.sort()).toEqual([2, 9])
  })

  test('that was stopped goes on by another run, which is told that the calls were cut off', async () => {
    const { runtime, run, own, pay } = await open()
    await run.stop()
    await run.result()
    const next = await runtime.resume('s', 'r', { runId: 'r2', mode: 'with-message', input: 'Never mind.' })
    await next.result()
    const sent = JSON.parse(own.prompts.at(-1) as string) as { role: string; content: { type: string }[] }[]
    const parts = sent.flatMap(({ content }) => content)
    // Each call stands with its outcome.
    expect(parts.filter(({ type }) => type === 'tool-call')).toHaveLength(4)
    expect(parts.filter(({ type }) => type === 'tool-result')).toHaveLength(4)
    expect(pay.ran).toEqual([])
  })

  test('is no place to go back to while its calls are open', async () => {
    const { runtime, run } = await open()
    await run.stop()
    await run.result()
    const from = (checkpointId: string) => runtime.resume('s', 'r', { mode: 'from-checkpoint', checkpointId })
    expect(await codeOf(from('r/main/1+'))).toBe('run_cut_refused')
    expect(await codeOf(from('r/main/c4/1'))).toBe('run_cut_refused')
  })

  test('goes on with confirmation of all that wants to be approved, and only that', async () => {
    const { runtime, run, pay } = await open()
    const same = await runtime.resume('s', 'r', { mode: 'with-confirmation', approved: true, reason: 'go ahead' })
    expect(same.runId).toBe('r')
    let result = await run.result()
    while (result.pendings.length > 1) result = await run.result()
    expect(result).toMatchObject({ status: 'paused', pendings: [{ kind: 'client-tool', id: 'c3' }] })
    expect(pay.ran.sort()).toEqual([2, 9])
    // Nothing more wants to be approved.
    expect(await codeOf(runtime.resume('s', 'r', { mode: 'with-confirmation', approved: true }))).toBe('run_busy')
    await give(runtime, 'c3')
    expect(await run.result()).toMatchObject({ status: 'completed' })
    const log = await soundLog(runtime)
    expect(chunksOf(log, 'tool-approval-response').map(({ approved, reason }) => [approved, reason])).toEqual([
      [true, 'go ahead'],
      [true, 'go ahead'],
    ])
    // It is the same run, and so there is one request and one message.
    expect(chunksOf(log, 'run-requested')).toHaveLength(1)
    expect(closedIn(log).filter(id => !id.includes('c4'))).toEqual(['r/main/1', 'r/main/2'])
  })

  test('goes on with confirmation of what is left, where somebody answers meanwhile', async () => {
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
    await give(runtime, 'c3')
    let result = await run.result()
    while (result.status === 'paused') result = await run.result()
    expect(result.status).toBe('completed')
    // One was denied by somebody who was first.
    expect(pay.ran).toHaveLength(1)
  })

  test('goes on with a denial of all that wants to be approved', async () => {
    const { runtime, run, pay } = await open()
    await runtime.resume('s', 'r', { mode: 'with-confirmation', approved: false })
    await give(runtime, 'c3')
    let result = await run.result()
    while (result.status === 'paused') result = await run.result()
    expect(result.status).toBe('completed')
    expect(pay.ran).toEqual([])
    expect(await callsIn(runtime)).toMatchObject({ c2: { state: 'output-denied' }, k1: { state: 'output-denied' } })
  })
})

describe('over several pauses', () => {
  /** Waits for an approval in each of its steps. */
  const steps = () => {
    const { tool: pay, ran } = counted('pay', true)
    const answers = [1, 2, 3].map(n => ({ text: `step ${n}. `, calls: [call('pay', `c${n}`, { n })] }))
    return { ran, own: scripted('stepper', [...answers, { text: 'Done.' }], { tools: [pay] }).agent }
  }

  test('result() tells each pause, and then the end', async () => {
    const { own } = steps()
    const { runtime, run } = await begin(own)
    for (const n of [1, 2, 3]) {
      const paused = await run.result()
      expect(paused).toMatchObject({
        status: 'paused',
        pendings: [{ id: `r::c${n}` }],
        output: undefined,
        error: undefined,
      })
      // Whoever asks again, here or elsewhere, is told the same.
      expect(await runtime.run('s', 'r').result()).toEqual(paused)
      expect(await runtime.status('s')).toMatchObject({ status: 'paused' })
      await approve(runtime, `c${n}`)
    }
    expect(await run.result()).toMatchObject({
      status: 'completed',
      text: 'step 1. step 2. step 3. Done.',
      pendings: [],
    })
    expect(chunksOf(await soundLog(runtime), 'run-paused')).toHaveLength(3)
  })

  test('stream() ends at each pause, and goes on after a cursor: every entry once', async () => {
    const { own } = steps()
    const { runtime, run } = await begin(own)
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

  test('a reader who is there all the time sees the answers too, and misses nothing', async () => {
    const { own } = steps()
    const { runtime, run } = await begin(own)
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

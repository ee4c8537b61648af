import { sessionIdOf } from '@millrace/log'
import { describe, expect, test } from 'vitest'
import {
  codeOf,
  echo,
  gate,
  logOf,
  patient,
  sqliteStores,
  testRuntime,
  textsOf,
  typesOf,
  until,
} from './test-runtime.fixture.ts'

describe('a start while a run is open', () => {
  test('rejects a second run by default and writes no entry', async () => {
    const held = gate()
    const agent = patient(held)
    const runtime = testRuntime({ agents: [agent] })
    const first = await runtime.start({ agent, input: 'a', session: 's' })
    await until(first, 'text-delta')
    for (const whenBusy of [undefined, 'reject'] as const) {
      const error = await runtime
        .start({ agent, input: 'b', session: 's', ...(whenBusy && { whenBusy }) })
        .catch(error => error)
      expect(error).toMatchObject({ name: 'RunError', code: 'run_busy', category: 'run', retryable: true })
    }
    held.open()
    await first.result()
    expect(await textsOf(runtime, 's')).toEqual(['a', 'one two'])
  })

  test('queues runs in order and writes their messages when they start', async () => {
    const held = gate()
    const agent = patient(held)
    const runtime = testRuntime({ agents: [agent, echo] })
    const first = await runtime.start({ agent, input: 'a', session: 's' })
    await until(first, 'text-delta')
    const rest = []
    for (const input of ['b', 'c']) {
      rest.push(await runtime.start({ agent: echo, input, session: 's', whenBusy: 'queue' }))
    }
    expect(await textsOf(runtime, 's')).toEqual(['a', 'one '])
    held.open()
    expect((await Promise.all(rest.map(run => run.result()))).map(({ text }) => text)).toEqual(['1: b', '2: c'])
    expect(await textsOf(runtime, 's')).toEqual(['a', 'one two', 'b', '1: b', 'c', '2: c'])
  })

  test('interrupts the current run and starts before queued ones', async () => {
    const agent = patient(gate())
    const runtime = testRuntime({ agents: [agent, echo] })
    const first = await runtime.start({ agent, input: 'a', session: 's' })
    await until(first, 'text-delta')
    const waits = await runtime.start({ agent: echo, input: 'b', session: 's', whenBusy: 'queue' })
    const stops = await runtime.start({ agent: echo, input: 'c', session: 's', whenBusy: 'interrupt-previous' })
    expect((await first.result()).status).toBe('interrupted')
    await Promise.all([waits.result(), stops.result()])
    expect(await textsOf(runtime, 's')).toEqual(['a', 'one ', 'c', '1: c', 'b', '2: b'])
  })

  test('law 8: rejects a run if the queue is full', async () => {
    const held = gate()
    const agent = patient(held)
    const runtime = testRuntime({ agents: [agent, echo] })
    const first = await runtime.start({ agent, input: 'a', session: 's' })
    await until(first, 'text-delta')
    const start = () => runtime.start({ agent: echo, input: 'b', session: 's', whenBusy: 'queue' })
    const runs = []
    for (let i = 0; i < 32; i++) runs.push(await start())
    expect(await codeOf(start())).toBe('run_queue_full')
    held.open()
    await Promise.all(runs.map(run => run.result()))
  })
})

test('requests a run only in a session of the given owner', async () => {
  const runtime = testRuntime({ agents: [echo] })
  const ask = (principal: string | null, runId: string) =>
    runtime.start({ agent: echo, input: 'a', session: 's', runId, principal })
  await (await ask('ada', 'r1')).result()
  expect(await codeOf(ask(null, 'r2'))).toBe('session_unknown')
  // Another owner has another session with this id.
  const { sessionId } = await ask('bob', 'r2')
  expect([sessionId === 's', sessionIdOf(sessionId)]).toEqual([false, 's'])
  expect((await runtime.view('s')).view.runs.map(({ runId }) => runId)).toEqual(['r1'])
  expect(await codeOf(runtime.retry('s', 'r1', { principal: 'bob' }))).toBe('session_unknown')
  expect((await (await ask('ada', 'r3')).result()).status).toBe('completed')
})

describe('law 5: the same run id is one run', () => {
  const statuses = async (runtime: ReturnType<typeof testRuntime>) =>
    typesOf(await logOf(runtime, 's')).filter(type => type === 'run-requested' || type === 'run-started')

  test('returns the same run for a second request, while it runs and after its end', async () => {
    const held = gate()
    const agent = patient(held)
    const runtime = testRuntime({ agents: [agent] })
    const ask = () => runtime.start({ agent, input: 'a', session: 's', runId: 'r' })
    const first = await ask()
    await until(first, 'text-delta')
    const second = await ask()
    held.open()
    expect(await second.result()).toEqual(await first.result())
    const third = await ask()
    expect(await third.result()).toEqual(await first.result())
    expect(await statuses(runtime)).toEqual(['run-requested', 'run-started'])
  })

  test('uses the run id as the session id if none is set', async () => {
    const runtime = testRuntime({ agents: [echo] })
    const runs = await Promise.all(['x', 'x'].map(runId => runtime.start({ agent: echo, input: 'a', runId })))
    expect(runs.map(({ sessionId }) => sessionId)).toEqual(['x', 'x'])
    const [a, b] = await Promise.all(runs.map(run => run.result()))
    expect(a).toEqual(b)
  })

  test('starts one run if two processes request it at once', async () => {
    const stores = await sqliteStores(2)
    const runtimes = stores.map(store => testRuntime({ store, agents: [echo] }))
    const runs = await Promise.all(
      runtimes.flatMap(runtime =>
        Array.from({ length: 3 }, () => runtime.start({ agent: echo, input: 'a', session: 's', runId: 'r' })),
      ),
    )
    const results = await Promise.all(runs.map(run => run.result()))
    expect(new Set(results.map(({ text }) => text))).toEqual(new Set(['0: a']))
    expect(await statuses(runtimes[0] as ReturnType<typeof testRuntime>)).toEqual(['run-requested', 'run-started'])
  })

  test('does not start a cancelled run again', async () => {
    const runtime = testRuntime({ engine: false })
    const ask = () => runtime.start({ agent: echo, input: 'a', session: 's', runId: 'r' })
    await (await ask()).stop()
    expect(await codeOf((await ask()).result())).toBe('run_taken_back')
  })

  test('rejects a retry with the id of another run', async () => {
    const runtime = testRuntime({ agents: [echo] })
    await (await runtime.start({ agent: echo, input: 'a', session: 's', runId: 'r', messageId: 'm' })).result()
    expect(await codeOf(runtime.retry('s', 'r', { runId: 'r' }))).toBe('run_ended')
    expect(await codeOf(runtime.edit('s', 'm', 'b', { runId: 'r' }))).toBe('run_ended')
    expect(await codeOf(runtime.resume('s', 'r', { runId: 'r' }))).toBe('run_ended')
  })
})

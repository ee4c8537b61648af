import { expect, test } from 'vitest'
import { codeOf, echo, gate, logOf, patient, testRuntime, textsOf, typesOf, until } from './test-runtime.fixture.ts'

test('copies the start of a session, and both continue independently', async () => {
  const runtime = testRuntime({ agents: [echo] })
  const first = await runtime.start({ agent: echo, input: 'a', session: 's' })
  await first.result()
  const at = (await logOf(runtime, 's')).length
  await (await runtime.start({ agent: echo, input: 'b', session: 's' })).result()
  const fork = await runtime.fork('s', { at })
  const whole = await runtime.fork('s', { session: 'whole', principal: 'ann' })
  expect(whole).toBe('whole')
  await (await runtime.start({ agent: echo, input: 'c', session: fork })).result()
  expect(await textsOf(runtime, fork)).toEqual(['a', '0: a', 'c', '1: c'])
  expect(await textsOf(runtime, 'whole')).toEqual(['a', '0: a', 'b', '1: b'])
  expect(await textsOf(runtime, 's')).toEqual(['a', '0: a', 'b', '1: b'])
  expect(typesOf(await logOf(runtime, fork))).not.toContain('rewind')
  // A copied run is a run of the copy.
  expect(await runtime.run(fork, first.runId).result()).toMatchObject({ sessionId: fork, text: '0: a' })
})

test('ends open runs and drops queued requests in the fork; the source continues', async () => {
  const held = gate()
  const agent = patient(held)
  const runtime = testRuntime({ agents: [agent, echo] })
  const run = await runtime.start({ agent, input: 'hi', session: 's' })
  await until(run, 'text-delta')
  const waits = await runtime.start({ agent: echo, input: 'later', session: 's', whenBusy: 'queue' })
  const fork = await runtime.fork('s')
  expect(await runtime.run(fork, run.runId).result()).toMatchObject({ status: 'interrupted', reason: 'forked' })
  expect(await codeOf(runtime.run(fork, waits.runId).result())).toBe('run_taken_back')
  expect(await runtime.status(fork)).toEqual({ status: 'idle' })
  held.open()
  expect((await run.result()).text).toBe('one two')
  expect((await waits.result()).text).toBe('1: later')
  // A run that the fork interrupted can be resumed in it.
  expect((await (await runtime.resume(fork, run.runId)).result()).text).toBe('one two')
})

test('rejects a missing session, a position beyond the end, and an existing target', async () => {
  const runtime = testRuntime({ agents: [echo] })
  await (await runtime.start({ agent: echo, input: 'a', session: 's' })).result()
  expect(await codeOf(runtime.fork('nowhere'))).toBe('session_unknown')
  expect(await codeOf(runtime.fork('nowhere', { at: 1 }))).toBe('session_unknown')
  expect(await codeOf(runtime.fork('s', { at: 1000 }))).toBe('validation_failed')
  expect(await codeOf(runtime.fork('s', { at: -1 }))).toBe('validation_failed')
  expect(await codeOf(runtime.fork('s', { session: 's' }))).toBe('session_exists')
})

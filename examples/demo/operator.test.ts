import type { Run } from 'millrace'
import { expect, test } from 'vitest'
import { demoRuntime } from './demo-runtime.fixture.ts'

const on = demoRuntime()

/** The only pending of a paused run. */
async function pendingOf(run: Run) {
  const { status, pendings } = await run.result()
  expect([status, pendings.length]).toEqual(['paused', 1])
  const [pending] = pendings
  if (pending === undefined || pending.kind === 'interrupt') throw new Error('Expected a pending tool call.')
  return pending
}

async function decide(run: Run, approved: boolean, reason?: string): Promise<void> {
  const { kind, id, part } = await pendingOf(run)
  expect([kind, part.toolName]).toEqual(['approval', 'send_email'])
  await on.runtime.answer(on.session, { kind: 'approval', id, approved, ...(reason && { reason }) })
}

async function choose(run: Run, color: string): Promise<void> {
  const { kind, id, part } = await pendingOf(run)
  expect([kind, part.toolName, part.executor]).toEqual(['client-tool', 'choose_color', 'client'])
  expect(part.input).toEqual({ options: ['red', 'green', 'blue'] })
  await on.runtime.answer(on.session, { kind: 'tool-result', id, output: { color } })
}

const calls = async (run: Run) =>
  ((await run.result()).message?.parts ?? []).flatMap(part => ('toolName' in part ? [part] : []))

test('sends an approved email with the input that was shown', async () => {
  const input = 'Send an email to ben@example.org: the mill turns.'
  const run = await on.ask('operator', input)
  const email = { to: 'ben@example.org', subject: 'Hello from Millrace', body: input }
  expect((await pendingOf(run)).part.input).toEqual(email)
  await decide(run, true)
  expect((await run.result()).text).toBe('The email to ben@example.org was sent.')
  expect(await calls(run)).toMatchObject([
    { toolName: 'send_email', state: 'output-available', input: email, approval: { approved: true } },
  ])
})

test('reports a denied email with the reason', async () => {
  const run = await on.ask('operator', 'Mail Ann.')
  await decide(run, false, 'Not on a Sunday.')
  const { status, text } = await run.result()
  expect([status, text]).toEqual(['completed', 'The email to ann@example.com was denied: Not on a Sunday.'])
  expect(await calls(run)).toMatchObject([{ toolName: 'send_email', state: 'output-denied' }])
  const again = await on.ask('operator', 'Mail Ann.')
  await decide(again, false)
  expect((await again.result()).text).toBe('The email to ann@example.com was denied.')
})

test('denies an invalid address by rule, without asking', async () => {
  const run = await on.ask('operator', 'Mail nobody@mill.invalid.')
  const { status, text, pendings } = await run.result()
  expect([status, pendings]).toEqual(['completed', []])
  expect(text).toBe('The email to nobody@mill.invalid was denied: This address does not exist.')
  expect(await calls(run)).toMatchObject([{ toolName: 'send_email', state: 'output-denied' }])
})

test.each(['Which colour?', 'Pick a color.'])('lets a client choose: %s', async input => {
  const run = await on.ask('operator', input)
  await choose(run, 'green')
  expect((await run.result()).text).toBe('You chose green.')
  expect(await calls(run)).toMatchObject([{ state: 'output-available', output: { color: 'green' } }])
})

test('rejects an invalid color and reports a failed client tool', async () => {
  const run = await on.ask('operator', 'Pick a color.')
  const { id } = await pendingOf(run)
  const wrong = on.runtime.answer(on.session, { kind: 'tool-result', id, output: { colour: 7 } })
  await expect(wrong).rejects.toMatchObject({ code: 'answer_invalid' })
  await on.runtime.answer(on.session, { kind: 'tool-result', id, error: 'the screen is dark' })
  expect((await run.result()).text).toBe('No color was chosen.')
})

test.each(['Go ahead.', 'First a mail, then a color.'])('sends an email, then picks a color: %s', async input => {
  const run = await on.ask('operator', input)
  await decide(run, false, 'No.')
  await choose(run, 'blue')
  const { status, text, pendings } = await run.result()
  expect([status, text]).toEqual(['completed', 'The email to ann@example.com was denied: No. You chose blue.'])
  expect(pendings).toEqual([])
})

test('reports only the results of the current turn', async () => {
  const first = await on.ask('operator', 'Mail Ann.')
  await decide(first, false, 'No.')
  await first.result()
  const second = await on.ask('operator', 'Mail Ann, please.')
  await decide(second, true)
  expect((await second.result()).text).toBe('The email to ann@example.com was sent.')
  const third = await on.ask('operator', 'And a color?')
  await choose(third, 'red')
  expect((await third.result()).text).toBe('You chose red.')
})

test('reports an unsent email after stop and resume', async () => {
  const run = await on.ask('operator', 'Mail Ann.')
  await pendingOf(run)
  await run.stop()
  expect((await run.result()).status).toBe('interrupted')
  const resumed = await on.runtime.resume(on.session, run.runId, { mode: 'continue' })
  expect((await resumed.result()).text).toBe('The email to ann@example.com could not be sent.')
})

test('gets the local time from the client', async () => {
  const run = await on.ask('operator', 'What time is it?')
  const { kind, id, part } = await pendingOf(run)
  expect([kind, part.toolName]).toEqual(['client-tool', 'local_time'])
  await on.runtime.answer(on.session, { kind: 'tool-result', id, output: { time: '12:30', timeZone: 'Europe/Berlin' } })
  expect((await run.result()).text).toBe('It is 12:30 where you are (Europe/Berlin).')
})

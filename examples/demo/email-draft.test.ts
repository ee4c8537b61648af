import { expect, test } from 'vitest'
import { demoRuntime } from './demo-runtime.fixture.ts'

const on = demoRuntime()

async function draft(tone: string, input = 'Invite Ann to our party at the mill.') {
  const run = await on.runtime.start({ session: on.session, workflow: 'email-draft', input })
  const { status, pendings } = await run.result()
  expect([status, pendings]).toMatchObject([
    'paused',
    [{ kind: 'interrupt', interrupt: { input: { kind: 'choice' } } }],
  ])
  await on.runtime.answer(on.session, { kind: 'interrupt', id: pendings[0]?.id ?? '', response: tone })
  return run.result()
}

test('asks for a tone and returns a structured email', async () => {
  const { status, output } = await draft('warm')
  expect([status, output]).toMatchObject(['completed', { subject: 'Come to the mill!' }])
  const { structured, interrupts } = await on.view()
  expect(structured).toMatchObject([{ dataType: 'email', status: 'done', data: output }])
  expect(interrupts).toMatchObject([{ status: 'answered', response: 'warm' }])
})

test('corrects an invalid output, in a second turn too', async () => {
  await draft('warm')
  const { status, output } = await draft('formal', 'Greet Ms Smith warmly.')
  expect([status, output]).toMatchObject(['completed', { subject: 'Invitation' }])
})

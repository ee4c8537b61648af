import { agent, memoryStore, millrace, scriptedModel } from 'millrace'
import { expect, onTestFinished, test } from 'vitest'
import { build } from './build.ts'
import { stage } from './stage.fixture.ts'

const on = stage()
const logger = { warn: () => {}, error: () => {} }

/** A server of one agent, whose model says no until it is told otherwise. */
async function serve(port = 0) {
  const doctor = { isWell: false }
  const sick = agent({
    name: 'sick',
    model: scriptedModel(({ lastText }) =>
      doctor.isWell ? { text: `Well: ${lastText}` } : { text: 'I feel', error: new Error('the model is down') },
    ),
  })
  const store = memoryStore()
  const app = millrace({ agents: [sick], store, logger, static: await build() })
  const listening = await app.listen({ port })
  onTestFinished(() => listening.close())
  return { doctor, listening }
}

test('a run that failed says why, and its retry takes the place of it', async () => {
  const { doctor, listening } = await serve()
  const tab = await on.open(listening.url)
  await tab.say('How are you?', 'sick')
  await tab.page.locator('.message.agent .failure').waitFor()
  await tab.is('error')
  expect(await tab.page.locator('.failure').count()).toBe(1)
  doctor.isWell = true
  await tab.press('Retry')
  await tab.hears('Well: How are you?')
  await tab.is('ready')
  expect([await tab.said(), await tab.answers()]).toEqual([['How are you?'], ['Well: How are you?']])
  expect(await tab.page.locator('.failure').count()).toBe(0)
})

test('what could not be sent stays, and is sent once by its retry', async () => {
  const { doctor, listening } = await serve()
  doctor.isWell = true
  const tab = await on.open(listening.url)
  await tab.page.locator('[data-program=sick]').waitFor()
  await tab.page.route('**/runs', route =>
    route.fulfill({ status: 413, json: { error: { code: 'too_large', message: 'Say less.' } } }),
  )
  await tab.say('Hello?', 'sick')
  await tab.page.locator('.message.said .failure', { hasText: 'Say less.' }).waitFor()
  expect(await tab.page.locator('.message.said').getAttribute('data-status')).toBe('error')
  await tab.page.unroute('**/runs')
  await tab.press('Retry')
  await tab.hears('Well: Hello?')
  await tab.is('ready')
  expect([await tab.said(), await tab.answers()]).toEqual([['Hello?'], ['Well: Hello?']])
})

test('older messages come when somebody comes near them, and what is read stays where it is', async () => {
  const { doctor, listening } = await serve()
  doctor.isWell = true
  const post = (input: string) =>
    fetch(`${listening.url}/api/sessions/long/runs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/x-ndjson' },
      body: JSON.stringify({ agent: 'sick', input }),
    }).then(reply => reply.text())
  for (let i = 1; i <= 60; i++) await post(`Number ${i}.`)
  const tab = await on.open(`${listening.url}/?session=long`)
  await tab.hears('Well: Number 60.')
  expect((await tab.said())[0]).toBe('Number 11.')
  await tab.page.locator('.older').scrollIntoViewIfNeeded()
  const first = tab.page.locator('.message.said', { hasText: 'Number 11.' })
  const before = await first.boundingBox()
  await tab.page.locator('.message.said', { hasText: 'Number 1.' }).waitFor({ state: 'attached' })
  expect(await tab.said()).toHaveLength(60)
  expect(await tab.page.locator('.older').count()).toBe(0)
  expect(Math.abs(((await first.boundingBox())?.y ?? 0) - (before?.y ?? 0))).toBeLessThan(80)
})

test('a session that somebody deletes while it is open is said to be gone, and not to be out of reach', async () => {
  const { doctor, listening } = await serve()
  doctor.isWell = true
  const tab = await on.open(listening.url)
  await tab.say('Soon gone.', 'sick')
  await tab.hears('Well: Soon gone.')
  await tab.is('ready')
  const session = new URL(tab.page.url()).searchParams.get('session')
  expect((await fetch(`${listening.url}/api/sessions/${session}`, { method: 'DELETE' })).status).toBe(204)
  await tab.page.locator('.connection', { hasText: 'gone' }).waitFor()
})

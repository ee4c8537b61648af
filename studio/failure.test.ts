import { agent, scriptedModel } from 'millrace'
import { expect, test } from 'vitest'
import { serve } from './demo.fixture.ts'
import { testTabs } from './tabs.fixture.ts'

const tabs = testTabs()

/** A server with one agent. Its model fails until `model.isUp` is set. */
async function serveSick() {
  const model = { isUp: false }
  const sick = agent({
    name: 'sick',
    model: scriptedModel(({ lastText }) =>
      model.isUp ? { text: `Well: ${lastText}` } : { text: 'I feel', error: new Error('the model is down') },
    ),
  })
  return { model, url: await serve({ agents: [sick] }) }
}

test('a failed run shows its error, and a retry replaces it', async () => {
  const { model, url } = await serveSick()
  const tab = await tabs.open(url)
  await tab.sendMessage('How are you?', 'sick')
  await tab.page.locator('.message.agent .failure').waitFor()
  await tab.is('error')
  await expect.poll(() => tab.page.locator('.failure').count()).toBe(1)
  model.isUp = true
  await tab.press('Retry')
  await tab.waitForText('Well: How are you?')
  await tab.is('ready')
  await expect
    .poll(async () => [await tab.userTexts(), await tab.answers()])
    .toEqual([['How are you?'], ['Well: How are you?']])
  await expect.poll(() => tab.page.locator('.failure').count()).toBe(0)
})

test('a message that could not be sent stays, and a retry sends it once', async () => {
  const { model, url } = await serveSick()
  model.isUp = true
  const tab = await tabs.open(url)
  await tab.page.locator('[data-program=sick]').waitFor()
  await tab.page.route('**/runs', route =>
    route.fulfill({ status: 413, json: { error: { code: 'too_large', message: 'Say less.' } } }),
  )
  await tab.sendMessage('Hello?', 'sick')
  await tab.page.locator('.message.user .failure', { hasText: 'Say less.' }).waitFor()
  await expect.poll(() => tab.page.locator('.message.user').getAttribute('data-status')).toBe('error')
  await tab.page.unroute('**/runs')
  await tab.press('Retry')
  await tab.waitForText('Well: Hello?')
  await tab.is('ready')
  await expect.poll(async () => [await tab.userTexts(), await tab.answers()]).toEqual([['Hello?'], ['Well: Hello?']])
})

test('loads older messages on scroll and keeps the scroll position', async () => {
  const { model, url } = await serveSick()
  model.isUp = true
  const post = (input: string) =>
    fetch(`${url}/api/sessions/long/runs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/x-ndjson' },
      body: JSON.stringify({ agent: 'sick', input }),
    }).then(reply => reply.text())
  for (let i = 1; i <= 60; i++) await post(`Number ${i}.`)
  const tab = await tabs.open(`${url}/?session=long`)
  await tab.waitForText('Well: Number 60.')
  await expect.poll(async () => (await tab.userTexts())[0]).toBe('Number 11.')
  const first = tab.page.locator('.message.user', { hasText: 'Number 11.' })
  // Measured in every frame after the scroll: a message that jumps and returns fails the test.
  const watch = await first.evaluateHandle(async message => {
    // The page has scrolled to its end by itself, and its scroll event, one frame later, has passed.
    const frame = () => new Promise(resolve => requestAnimationFrame(resolve))
    while (document.querySelector('.transcript')?.scrollTop === 0) await frame()
    for (let i = 0; i < 3; i++) await frame()
    const topOf = () => message.getBoundingClientRect().top
    document.querySelector('.older')?.scrollIntoView()
    const before = topOf()
    const watched = { movedPx: 0, frames: 0 }
    const look = () => {
      watched.movedPx = Math.max(watched.movedPx, message.isConnected ? Math.abs(topOf() - before) : Infinity)
    }
    const eachFrame = () => {
      look()
      watched.frames++
      requestAnimationFrame(eachFrame)
    }
    requestAnimationFrame(eachFrame)
    document.addEventListener('scroll', look, { capture: true })
    return watched
  })
  await tab.page.locator('.message.user', { hasText: 'Number 1.' }).waitFor({ state: 'attached' })
  await expect.poll(() => tab.userTexts()).toHaveLength(60)
  await expect.poll(() => tab.page.locator('.older').count()).toBe(0)
  // Two frames later the layout has settled.
  const { frames } = await watch.jsonValue()
  await expect.poll(async () => (await watch.jsonValue()).frames).toBeGreaterThan(frames + 2)
  expect((await watch.jsonValue()).movedPx).toBeLessThan(2)
})

test('a failed rename shows its error and keeps the new name, and a retry saves it', async () => {
  const { model, url } = await serveSick()
  model.isUp = true
  const tab = await tabs.open(url)
  await tab.sendMessage('Old name', 'sick')
  await tab.waitForText('Well: Old name')
  await tab.page.locator('.sessions .name', { hasText: 'Old name' }).waitFor()
  await tab.page.route('**/api/sessions/*', (route, request) =>
    request.method() === 'PATCH'
      ? route.fulfill({ status: 503, json: { error: { code: 'store_unavailable', message: 'no store' } } })
      : route.fallback(),
  )
  await tab.page.getByRole('button', { name: 'Rename Old name' }).press('Enter')
  const field = tab.page.getByRole('textbox', { name: 'Chat name' })
  await field.fill('New name')
  await field.press('Enter')
  const alert = tab.page.locator('.sessions').getByRole('alert')
  await expect.poll(() => alert.textContent()).toBe('The database is unavailable. Try again in a moment.')
  expect(await field.inputValue()).toBe('New name')
  await tab.page.route('**/api/sessions/*', (route, request) =>
    request.method() === 'PATCH' ? route.abort() : route.fallback(),
  )
  await field.press('Enter')
  await expect.poll(() => alert.textContent()).toBe('Cannot reach the server.')
  await tab.page.unroute('**/api/sessions/*')
  await field.press('Enter')
  await tab.page.locator('.sessions .name', { hasText: 'New name' }).waitFor()
  await expect.poll(() => field.count()).toBe(0)
})

test('a session deleted while it is open is shown as deleted, not as offline', async () => {
  const { model, url } = await serveSick()
  model.isUp = true
  const tab = await tabs.open(url)
  await tab.sendMessage('Soon gone.', 'sick')
  await tab.waitForText('Well: Soon gone.')
  await tab.is('ready')
  const session = new URL(tab.page.url()).searchParams.get('session')
  expect((await fetch(`${url}/api/sessions/${session}`, { method: 'DELETE' })).status).toBe(204)
  await tab.page.locator('.connection', { hasText: 'Deleted' }).waitFor()
})

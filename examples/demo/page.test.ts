import { join } from 'node:path'
import { type Listening, type LogStore, memoryStore, millrace } from 'millrace'
import { type Browser, chromium as browsers, type Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { chromium } from '../../scripts/services/chromium.ts'
import { agents, workflows } from './agents.ts'

const logger = { warn: () => {}, error: console.error }
let browser: Browser
let store: LogStore
let demo: Listening
let page: Page
let complaints: string[]

const serve = (port = 0): Promise<Listening> =>
  millrace({ agents, workflows, store, logger, static: join(import.meta.dirname, 'public') }).listen({ port })

beforeAll(async () => {
  browser = await browsers.launch(await chromium())
})
afterAll(() => browser.close())

beforeEach(async () => {
  vi.stubEnv('DEMO_PACE', '0.1')
  store = memoryStore()
  demo = await serve()
  complaints = []
  page = await browser.newPage({ viewport: { width: 1360, height: 860 } })
  page.on('console', message => message.type() === 'error' && complaints.push(message.text()))
  page.on('pageerror', error => complaints.push(error.message))
  await page.goto(demo.url)
  await page.locator('[data-program="email-draft"]').waitFor()
})
afterEach(async () => {
  await page.close()
  await demo.close()
  vi.unstubAllEnvs()
  expect(complaints).toEqual([])
})

/** Picks an agent or workflow, and says something to it. */
async function say(name: string, text: string): Promise<void> {
  await page.click(`[data-program="${name}"]`)
  await page.fill('#input', text)
  await page.click('#composer button')
}

const runIs = (state: string) => page.locator(`#run[data-state="${state}"]`).waitFor()
const connectionIs = (state: string) => page.locator(`#connection[data-state="${state}"]`).waitFor()
const said = (selector = '.text .body') => page.locator(`#conversation ${selector}`).allTextContents()
const words = (count: number) => Array.from({ length: count }, (_, at) => at + 1).join(' ')

test('lists what can be started, and shows a run as text and as the frames that carried it', async () => {
  const names = await page.locator('[data-program]').allTextContents()
  expect(names).toEqual(['echo', 'assistant', 'operator', 'team', 'long', 'flaky', 'email-draft'])
  await say('echo', 'A <b>bold</b> mill.')
  await runIs('completed')
  expect(await said()).toEqual(['A <b>bold</b> mill.'])
  expect(await page.locator('#conversation b').count()).toBe(0)

  const types = await page.locator('.frame .type').allTextContents()
  expect(types.slice(0, 2)).toEqual(['open', 'entries'])
  expect(types).toContain('caught-up')
  const frame = page.locator('.frame[data-type=entries]').last()
  expect(await frame.locator('.chunk').last().textContent()).toBe('run-finished')
  const sequence = await frame.locator('summary .sequence').textContent()
  expect(await frame.locator('.cursor').textContent()).toMatch(new RegExp(`^${sequence}\\.`))
  expect(await frame.locator('pre').count()).toBe(0)
  await frame.locator('summary').click()
  const raw = JSON.parse((await frame.locator('pre').textContent()) ?? '')
  expect(raw).toMatchObject({ type: 'entries', sequence: Number(sequence) })
})

test('assistant: it thinks, its tool works, and its source is named', async () => {
  await say('assistant', 'How is the weather in Paris?')
  await runIs('completed')
  expect(await said()).toEqual(['It is 23 degrees in Paris, and the sky is rainy.'])
  expect((await said('.reasoning .body')).join()).toContain('weather in Paris')
  expect(await said('.call .badge')).toEqual(['done'])
  expect(await page.locator('.source a').getAttribute('href')).toBe('https://weather.example/paris')
})

test('team: two work side by side, and the state is patched', async () => {
  await say('team', 'Mills')
  await runIs('completed')
  expect((await said()).at(-1)).toBe('In short: Three sources tell of "Mills". One source on "Mills" is old.')
  expect(await said('.text.child h3')).toEqual(expect.arrayContaining(['researcher', 'critic']))
  expect((await said('.note')).join()).toContain('state: add /findings/0 "Known: Mills"')
})

test('flaky: what was said is taken back, and said again once', async () => {
  // Slowly enough to be seen before it is taken back.
  vi.stubEnv('DEMO_PACE', '5')
  await say('flaky', 'Hello.')
  await runIs('completed')
  expect(await said()).toEqual(['You said: Hello. It took me two attempts to answer.'])
  expect((await said('.note.bad')).join()).toContain('taken back')
})

test('operator: a person approves, and the page is the client that chooses', async () => {
  await say('operator', 'Mail ben@example.org, then pick a color.')
  await runIs('waiting')
  expect(await page.locator('.pending dd').first().textContent()).toBe('ben@example.org')
  await page.click('.pending button:text("Approve")')
  await page.click('.pending[data-kind="tool-result"] button:text("green")')
  await runIs('completed')
  expect(await said()).toEqual(['The email to ben@example.org is sent. You chose green.'])
  expect(await page.locator('.pending').count()).toBe(0)
})

test('operator: a person denies with a reason, by the keyboard alone', async () => {
  await page.locator('[data-program="operator"]').focus()
  await page.keyboard.press('Enter')
  await page.keyboard.type('Mail Ann.')
  await page.keyboard.press('Enter')
  await runIs('waiting')
  await page.locator('.pending').waitFor()
  await page.keyboard.press('Shift+Tab')
  await page.keyboard.press('Shift+Tab')
  await page.keyboard.press('Shift+Tab')
  await page.keyboard.type('Not on a Sunday.')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await runIs('completed')
  expect(await said()).toEqual(['The email to ann@example.com was denied: Not on a Sunday.'])
  expect(await page.evaluate(() => document.activeElement?.id)).toBe('input')
})

test('email-draft: a tone is chosen, and a form is filled in', async () => {
  await say('email-draft', 'Our jubilee')
  await page.click('.pending button:text("Formal")')
  await runIs('completed')
  const form = page.locator('.card', { hasText: 'email' })
  expect(await form.locator('dd').first().textContent()).toBe('Invitation')
  expect(await form.locator('dt').allTextContents()).toEqual(['subject', 'body', 'bullets'])
})

test('law 2: a connection that is dropped says so, comes back by its cursor, and has every word once', async () => {
  vi.stubEnv('DEMO_PACE', '1')
  await say('long', '400')
  await page.locator('#conversation .text .body', { hasText: ' 50' }).waitFor()
  await connectionIs('live')
  const shown = await page.evaluateHandle(() => {
    const seen: string[] = []
    const badge = document.querySelector('#connection')
    if (badge) new MutationObserver(() => seen.push(badge.textContent)).observe(badge, { childList: true })
    return seen
  })
  await page.click('#drop')
  await page.locator('.frame[data-type=open]').nth(1).waitFor()
  await connectionIs('live')
  await runIs('completed')
  const [first, ...rest] = await shown.jsonValue()
  expect(first).toMatch(/^offline, again in \d\.\d s$/)
  expect(rest).toEqual(['connecting', 'catching up', 'live'])
  expect(await said()).toEqual([words(400)])
  expect(await page.locator('.mark').count()).toBe(1)
  const opens = await page.locator('.frame[data-type=open] .cursor').allTextContents()
  expect(opens).toHaveLength(2)
  expect(opens[1]).not.toBe(opens[0])
})

test('law 7: a server that goes away is not shown as the end, and one that comes back goes on', async () => {
  await say('echo', 'First.')
  await runIs('completed')
  await demo.close()
  await connectionIs('offline')
  await page.fill('#input', 'Second.')
  await page.press('#input', 'Enter')
  await page.locator('#notice', { hasText: 'out of reach' }).waitFor()
  expect(await page.inputValue('#input')).toBe('Second.')
  demo = await serve(demo.port)
  await connectionIs('live')
  await page.press('#input', 'Enter')
  await page.locator('#conversation .text .body', { hasText: 'Second.' }).waitFor()
  expect(await said()).toEqual(['First.', 'Second.'])
  // The browser itself complains of what it cannot reach.
  expect(complaints.every(text => text.startsWith('Failed to load resource'))).toBe(true)
  complaints = []
})

test('stops a run, and keeps what it said', async () => {
  vi.stubEnv('DEMO_PACE', '1')
  await say('long', '100000')
  await page.locator('#conversation .text .body', { hasText: ' 20' }).waitFor()
  await page.click('#stop')
  await runIs('interrupted')
  expect(words(1000).startsWith((await said()).join())).toBe(true)
  expect(await page.locator('#stop').isDisabled()).toBe(true)
})

test('lists sessions as they are made, and opens one again by its line or its address', async () => {
  await say('echo', 'One.')
  await runIs('completed')
  const address = page.url()
  await say('flaky', 'Two.')
  await runIs('completed')
  await fetch(`${demo.url}/api/sessions/elsewhere/runs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify({ agent: 'echo', input: 'From elsewhere.' }),
  })
  await page.click('#sessions button[data-session="elsewhere"]')
  await page.locator('#conversation .text .body', { hasText: 'From elsewhere.' }).waitFor()
  await page.click('#sessions button:has-text("echo: One.")')
  await page.locator('#conversation .text .body', { hasText: 'One.' }).waitFor()
  expect(page.url()).toBe(address)
  await page.reload()
  await runIs('completed')
  expect(await said()).toEqual(['One.'])
  await page.locator('#program', { hasText: 'echo' }).waitFor()
})

test('fits a phone: nothing is wider than the screen, and frames are a tap away', async () => {
  await page.setViewportSize({ width: 360, height: 740 })
  await say('operator', 'Mail ann@example.com')
  await page.locator('.pending').waitFor()
  const overflow = () => page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
  expect(await overflow()).toBeLessThanOrEqual(0)
  expect(await page.locator('#frames').isVisible()).toBe(false)
  await page.click('button[data-pane="frames"]')
  expect(await page.locator('#frames .frame').first().isVisible()).toBe(true)
  expect(await overflow()).toBeLessThanOrEqual(0)
})

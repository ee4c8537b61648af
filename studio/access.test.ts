import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type axe from 'axe-core'
import { expect, test } from 'vitest'
import { demoServer, setPace, startDemo } from './demo.fixture.ts'
import { desktop, phone, type Tab, testTabs } from './tabs.fixture.ts'

const tabs = testTabs()
const url = demoServer()

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core'), 'utf8')

/** Serious and critical violations that axe finds, with their places. */
async function barriers(tab: Tab, label: string, within?: string, rules?: string[]): Promise<string[]> {
  // Evaluated, since the content security policy of the page forbids other scripts.
  if (await tab.page.evaluate(() => !('axe' in window))) await tab.page.evaluate(AXE)
  const { violations } = await tab.page.evaluate(
    ({ within, rules }) => {
      const { axe: checker } = window as unknown as { axe: typeof axe }
      return checker.run(within ?? document, { resultTypes: ['violations'], ...(rules && { runOnly: rules }) })
    },
    { within, rules },
  )
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) =>
      nodes.map(node => `${label}: ${id} at ${node.target.join(' ')}: ${node.failureSummary}`),
    )
}

/** Checks both colour schemes. In the dark one only the contrast is checked. */
async function inBoth(tab: Tab, label: string, within?: string): Promise<string[]> {
  const light = await barriers(tab, label, within)
  await tab.page.emulateMedia({ colorScheme: 'dark' })
  const dark = await barriers(tab, `${label}, dark`, within, ['color-contrast'])
  await tab.page.emulateMedia({ colorScheme: 'light' })
  return [...light, ...dark]
}

/** Fills a session with parts of all kinds, a denial, an object, and a pending question. */
async function everything(tab: Tab): Promise<void> {
  await tab.sendMessage('What is the weather in Paris?', 'assistant')
  await tab.waitForText('Source: ')
  await tab.is('ready')
  await tab.sendMessage('Mills', 'team')
  await tab.waitForText('In short')
  await tab.is('ready')
  await tab.sendMessage('Mail ann@nowhere.invalid.', 'operator')
  await tab.waitForText('denied')
  await tab.is('ready')
  await tab.sendMessage('Our anniversary', 'email-draft')
  await tab.press('Warm')
  await tab.page.locator('.structured[data-status=done]').waitFor()
  await tab.is('ready')
  await tab.sendMessage('Mail ann@example.com.', 'operator')
  await tab.page.locator('.pending').waitFor()
}

test('has no serious accessibility problem by axe: start, chat and inspector, light and dark, desktop and phone', async () => {
  // As processes, since only they have faults to inject in the inspector.
  const url = await startDemo(0).url
  const found: string[] = []
  // High enough to show the whole conversation: messages out of view are not rendered.
  const tab = await tabs.open(url, { width: 1280, height: 4000 })
  await tab.page.locator('[data-program=echo]').waitFor()
  found.push(...(await inBoth(tab, 'start')))
  await everything(tab)
  const closed = tab.page.locator('.message details:not([open]) > summary')
  await closed.evaluateAll(elements => elements.forEach(element => void (element as HTMLElement).click()))
  found.push(...(await inBoth(tab, 'chat')))

  await tab.page.setViewportSize(desktop)
  await tab.press('Inspect')
  const panels = tab.page.getByRole('tablist', { name: 'Log views' }).getByRole('tab')
  await panels.first().waitFor()
  for (const name of await panels.allTextContents()) {
    await panels.filter({ hasText: name }).click()
    await tab.page.locator('[role=tab][aria-selected=true]', { hasText: name }).waitFor()
    found.push(...(await inBoth(tab, name, '.drawer')))
  }

  const session = new URL(tab.page.url()).searchParams.get('session') ?? ''
  const whole = await tabs.open(`${url}/inspect/${encodeURIComponent(session)}`)
  await whole.waitForText('In short')
  found.push(...(await inBoth(whole, 'inspector')))

  const hand = await tabs.open(tab.page.url(), phone)
  await hand.page.locator('.pending').waitFor()
  found.push(...(await barriers(hand, 'phone')))
  await hand.press('Inspect')
  await hand.page.getByRole('tablist', { name: 'Log views' }).waitFor()
  found.push(...(await barriers(hand, 'inspector on a phone')))
  expect(found).toEqual([])
})

test('everything works by keyboard: choose an agent, send, approve, stop, inspect, walk through entries', async () => {
  setPace(2)
  const tab = await tabs.open(url())
  const { keyboard } = tab.page
  await tab.page.locator('[data-program=operator]').waitFor()
  await tab.focuses('#input')
  await tab.tabTo(/^operator/, 'Shift+Tab')
  await keyboard.press('Enter')
  await tab.focuses('#input')
  await keyboard.type('Mail ann@example.com.')
  await keyboard.press('Enter')
  await tab.page.locator('.pending').waitFor()
  await tab.tabTo(/^Approve$/, 'Shift+Tab')
  await keyboard.press('Enter')
  await tab.waitForText('The email to ann@example.com was sent.')
  await tab.focuses('#input')

  await tab.tabTo(/^Agent$/)
  await keyboard.type('long')
  await tab.tabTo(/^Message$/, 'Shift+Tab')
  await keyboard.type('100000')
  await keyboard.press('Enter')
  await tab.waitForText('1 2 3')
  await tab.tabTo(/^Stop$/)
  await keyboard.press('Enter')
  await tab.page.locator('.message.agent', { hasText: 'Stopped.' }).waitFor()
  await tab.is('ready')

  await tab.tabTo(/^Inspect$/, 'Shift+Tab')
  await keyboard.press('Enter')
  await tab.page.getByRole('tab', { name: 'Entries' }).waitFor()
  // To the next panel and back, and into the list.
  await tab.tabTo(/^Entries$/)
  await keyboard.press('ArrowRight')
  await tab.page.locator('[role=tab][aria-selected=true]:focus', { hasText: 'Charts' }).waitFor()
  await keyboard.press('ArrowLeft')
  await tab.page.locator('[role=tab][aria-selected=true]:focus', { hasText: 'Entries' }).waitFor()
  await tab.tabTo(/^Log entries$/)
  const active = () => tab.page.locator('[data-sequence][data-active=true]').getAttribute('data-sequence')
  await keyboard.press('Home')
  await expect.poll(active).toBe('1')
  await keyboard.press('ArrowDown')
  await expect.poll(active).toBe('2')
  await keyboard.press('Enter')
  await tab.page.locator('.past .banner', { hasText: 'entry 2 of' }).waitFor()
  await tab.page.getByRole('region', { name: 'Entry 2' }).waitFor()
  await keyboard.press('Escape')
  await tab.page.locator('.past .banner').waitFor({ state: 'detached' })
})

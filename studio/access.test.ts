import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type axe from 'axe-core'
import { expect, test } from 'vitest'
import { desktop, house, phone, soon, stage, type Tab } from './stage.fixture.ts'

const on = stage()
const url = house(0.2)

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core'), 'utf8')

/** What keeps people from using what is on a page: the serious and the critical, each with where it is. */
async function barriers(tab: Tab, place: string, within?: string, rules?: string[]): Promise<string[]> {
  // Not as a script of the page, which its policy would not have.
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
      nodes.map(node => `${place}: ${id} at ${node.target.join(' ')}: ${node.failureSummary}`),
    )
}

/** The same, in both schemes: in the dark only colours are others. */
async function inBoth(tab: Tab, place: string, within?: string): Promise<string[]> {
  const light = await barriers(tab, place, within)
  await tab.page.emulateMedia({ colorScheme: 'dark' })
  const dark = await barriers(tab, `${place}, dark`, within, ['color-contrast'])
  await tab.page.emulateMedia({ colorScheme: 'light' })
  return [...light, ...dark]
}

/** A session with all that there is to show: parts of all kinds, a denial, a failure taken back, an object, and a question that waits. */
async function everything(tab: Tab): Promise<void> {
  await tab.say('How is the weather in Paris?', 'assistant')
  await tab.hears('More is told by')
  await tab.is('ready')
  await tab.say('Mills', 'team')
  await tab.hears('In short')
  await tab.is('ready')
  await tab.say('Mail ann@nowhere.invalid.', 'operator')
  await tab.hears('denied')
  await tab.is('ready')
  await tab.say('Our jubilee', 'email-draft')
  await tab.press('Warm')
  await tab.page.locator('.structured[data-status=done]').waitFor()
  await tab.is('ready')
  await tab.say('Mail ann@example.com.', 'operator')
  await tab.page.locator('.asking').waitFor()
}

test('nothing keeps anybody from using it: the start, a chat, its inspector, dark and light, on a phone', {
  timeout: 120_000,
}, async () => {
  const found: string[] = []
  // So high that all of a conversation is in sight.
  const tab = await on.open(url(), { width: 1280, height: 4000 })
  await tab.page.locator('[data-program=echo]').waitFor()
  found.push(...(await inBoth(tab, 'start')))
  await everything(tab)
  const closed = tab.page.locator('.message details:not([open]) > summary')
  await closed.evaluateAll(all => all.forEach(one => void (one as HTMLElement).click()))
  found.push(...(await inBoth(tab, 'chat')))

  await tab.page.setViewportSize(desktop)
  await tab.press('Inspect')
  const panels = tab.page.getByRole('tablist', { name: 'Views of the log' }).getByRole('tab')
  await panels.first().waitFor()
  for (const name of await panels.allTextContents()) {
    await panels.filter({ hasText: name }).click()
    await tab.page.locator('[role=tab][aria-selected=true]', { hasText: name }).waitFor()
    found.push(...(await inBoth(tab, name, '.drawer')))
  }

  const session = new URL(tab.page.url()).searchParams.get('session') ?? ''
  const whole = await on.open(`${url()}/inspect/${encodeURIComponent(session)}`)
  await whole.hears('In short')
  found.push(...(await inBoth(whole, 'inspector')))

  const hand = await on.open(tab.page.url(), phone)
  await hand.page.locator('.asking').waitFor()
  found.push(...(await barriers(hand, 'phone')))
  await hand.press('Inspect')
  await hand.page.getByRole('tablist', { name: 'Views of the log' }).waitFor()
  found.push(...(await barriers(hand, 'inspector on a phone')))
  expect(found).toEqual([])
})

/** Goes on by the Tab key, forwards or backwards, until what has the keyboard is called so. */
async function tabTo({ page }: Tab, name: RegExp, key = 'Tab'): Promise<void> {
  const MOST = 100
  const passed: string[] = []
  for (let presses = 0; presses < MOST; presses++) {
    const here = await page.evaluate(() => {
      const { activeElement } = document
      return activeElement?.getAttribute('aria-label') ?? activeElement?.textContent ?? ''
    })
    if (name.test(here)) return
    passed.push(here.slice(0, 20))
    await page.keyboard.press(key)
  }
  throw new Error(`There is no ${name} among: ${passed.join(', ')}`)
}

test('by the keyboard alone: choose, say, approve, stop, inspect, and go through the entries', async () => {
  const tab = await on.open(url())
  const { keyboard } = tab.page
  await tab.page.locator('[data-program=operator]').waitFor()
  await tab.focuses('#input')
  await tabTo(tab, /^operator/, 'Shift+Tab')
  await keyboard.press('Enter')
  await tab.focuses('#input')
  await keyboard.type('Mail ann@example.com.')
  await keyboard.press('Enter')
  await tab.page.locator('.asking').waitFor()
  await tabTo(tab, /^Approve$/, 'Shift+Tab')
  await keyboard.press('Enter')
  await tab.hears('The email to ann@example.com is sent.')
  await tab.focuses('#input')

  await tabTo(tab, /^Who answers$/)
  await keyboard.type('long')
  await tabTo(tab, /^What to say$/, 'Shift+Tab')
  await keyboard.type('100000')
  await keyboard.press('Enter')
  await tab.hears('1 2 3')
  await tabTo(tab, /^Stop$/)
  await keyboard.press('Enter')
  await tab.page.locator('.message.agent', { hasText: 'Stopped.' }).waitFor()
  await tab.is('ready')

  await tabTo(tab, /^Inspect$/, 'Shift+Tab')
  await keyboard.press('Enter')
  await tab.page.getByRole('tab', { name: 'Entries' }).waitFor()
  // From one panel to the next and back, and into the list.
  await tabTo(tab, /^Entries$/)
  await keyboard.press('ArrowRight')
  await tab.page.locator('[role=tab][aria-selected=true]:focus', { hasText: 'Charts' }).waitFor()
  await keyboard.press('ArrowLeft')
  await tab.page.locator('[role=tab][aria-selected=true]:focus', { hasText: 'Entries' }).waitFor()
  await tabTo(tab, /^Entries of the log$/)
  const active = () => tab.page.locator('[data-sequence][data-active=true]').getAttribute('data-sequence')
  await keyboard.press('Home')
  await soon(active).toBe('1')
  await keyboard.press('ArrowDown')
  await soon(active).toBe('2')
  await keyboard.press('Enter')
  await tab.page.locator('.then .banner', { hasText: 'at 2 of' }).waitFor()
  await tab.page.getByRole('region', { name: 'Entry 2' }).waitFor()
  await keyboard.press('Escape')
  await tab.page.locator('.then .banner').waitFor({ state: 'detached' })
})

// The pictures of the docs: what is on the page at moments worth seeing.

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Browser, type BrowserContextOptions, chromium as browsers, type Page } from 'playwright-core'

type Launch = Parameters<typeof browsers.launch>[0]

const desktop = { viewport: { width: 1280, height: 800 } } as const
const dark = { ...desktop, colorScheme: 'dark' } as const
const phone = { viewport: { width: 390, height: 844 }, hasTouch: true } as const

/** Drives a demo to them, and writes a picture of each into a folder; gives the files. */
export async function takePictures(url: string, folder: string, launch: Launch): Promise<string[]> {
  mkdirSync(folder, { recursive: true })
  const browser = await browsers.launch(launch)
  const files: string[] = []
  const take = async (name: string, page: Page) => {
    const path = join(folder, `${name}.png`)
    // What blinks or moves would be another picture each time.
    await page.screenshot({ path, animations: 'disabled', caret: 'hide' })
    files.push(path)
    await page.context().close()
  }
  try {
    const { team, paused, inspector } = await sessions(browser, url)
    await take('inspector', inspector)
    await take('chat', await answer(browser, url))
    await take('chat-dark', await nested(browser, team))
    await take('chat-phone', await approval(browser, paused))
    await take('inspector-dark', await drawer(browser, team))
    await take('faults', await faults(browser, url))
    return files
  } finally {
    await browser.close()
  }
}

const open = async (browser: Browser, address: string, options: BrowserContextOptions = desktop): Promise<Page> => {
  const context = await browser.newContext({ reducedMotion: 'reduce', locale: 'en-GB', timezoneId: 'UTC', ...options })
  const page = await context.newPage()
  await page.goto(address)
  return page
}

/** Says something to an agent or workflow. */
async function say(page: Page, text: string, program: string): Promise<void> {
  await page.selectOption('.program', { label: program })
  await page.fill('#input', text)
  await page.press('#input', 'Enter')
}

const is = (page: Page, status: string) =>
  page.locator(`.working[data-status="${status}"]`).waitFor({ state: 'attached' })

/** Waits until an agent's words hold these. */
const hears = (page: Page, text: string) => page.locator('.message.agent > .text', { hasText: text }).last().waitFor()

/** What is in the list of sessions in all pictures; and of one the inspector, which was there while it came about. */
async function sessions(browser: Browser, url: string): Promise<{ team: string; paused: string; inspector: Page }> {
  const page = await open(browser, url)
  const another = () => page.getByRole('button', { name: 'New session' }).click()
  await say(page, 'A visit to the mill', 'guest-book')
  await is(page, 'paused')
  await another()
  await say(page, 'Our jubilee on Saturday', 'email-draft')
  await page.getByRole('button', { name: 'Warm' }).click()
  await page.locator('.structured[data-status=done]').waitFor()
  await another()
  await say(page, 'Mail ann@example.com, then pick a color', 'operator')
  await is(page, 'paused')
  const paused = page.url()
  await another()
  await say(page, 'Water mills', 'team')
  await hears(page, 'In short')
  await is(page, 'ready')
  const team = page.url()
  const inspector = await open(browser, inspectorOf(team))
  await hears(inspector, 'In short')
  // What is taken back is seen by who is there.
  await say(page, 'How much water does a wheel need?', 'flaky')
  await hears(page, 'two attempts to answer.')
  await is(page, 'ready')
  await page.context().close()
  await hears(inspector, 'two attempts to answer.')
  await choose(inspector, 'note_finding')
  return { team, paused, inspector }
}

/** Goes to the first entry of a tool's output. */
async function choose(page: Page, tool: string): Promise<void> {
  const search = page.getByRole('searchbox', { name: 'Search the entries' })
  await search.fill(tool)
  await page.locator('[data-sequence]', { hasText: 'tool-input-available' }).first().click()
  await search.fill('')
  await page.getByRole('heading', { name: 'tool-input-available' }).waitFor()
  await search.blur()
}

/** A call of a tool, and an answer in Markdown. */
async function answer(browser: Browser, url: string): Promise<Page> {
  const page = await open(browser, url)
  await say(page, 'How is the weather in Paris?', 'assistant')
  await hears(page, 'More is told by')
  await is(page, 'ready')
  await page.locator('.message.user').scrollIntoViewIfNeeded()
  return page
}

/** Sub-agents, nested, with their notes. */
async function nested(browser: Browser, address: string): Promise<Page> {
  const page = await open(browser, address, dark)
  await hears(page, 'In short')
  await page.locator('.tool[data-tool=researcher]').evaluate(card => card.scrollIntoView())
  return page
}

/** A run that asks before it does something, on a phone. */
async function approval(browser: Browser, address: string): Promise<Page> {
  const page = await open(browser, address, phone)
  await page.locator('.pending').waitFor()
  return page
}

const inspectorOf = (address: string): string => {
  const { origin, searchParams } = new URL(address)
  return `${origin}/inspect/${encodeURIComponent(searchParams.get('session') ?? '')}`
}

/** A chat with its inspector beside it. */
async function drawer(browser: Browser, address: string): Promise<Page> {
  const page = await open(browser, address, dark)
  await hears(page, 'two attempts to answer.')
  await page.getByRole('button', { name: 'Inspect' }).click()
  await page.getByRole('tab', { name: 'Charts' }).click()
  await page.locator('[role=tabpanel] figure').first().waitFor()
  return page
}

/** A worker is killed in the midst of a long answer, and nothing is lost. */
async function faults(browser: Browser, url: string): Promise<Page> {
  const chat = await open(browser, url)
  await say(chat, 'Write the diary of a mill', 'long')
  await hears(chat, 'Day 1')
  const page = await open(browser, inspectorOf(chat.url()))
  await chat.context().close()
  await page.getByRole('tab', { name: 'Faults' }).click()
  await hears(page, 'Day 3')
  await page.getByRole('button', { name: 'Drop my connection' }).click()
  await page.locator('[data-fault=drop][data-state=over]').waitFor()
  await hears(page, 'Day 9')
  await page.getByRole('button', { name: 'Kill the worker' }).click()
  await page.locator('.fault-list', { hasText: 'run taken over at' }).waitFor()
  await hears(page, 'Day 12')
  await page.locator('[data-fault=kill-worker]', { hasText: 'verified' }).waitFor()
  // As one sees it who has pressed nothing.
  await page.mouse.move(0, 0)
  await page.locator('.faults').evaluate(panel => panel.closest('[role=tabpanel]')?.scrollTo(0, 0))
  return page
}

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
    const { team, mail } = await sessions(browser, url)
    await take('chat', await approval(browser, url))
    await take('chat-dark', await nested(browser, team))
    await take('chat-phone', await draft(browser, mail))
    await take('inspector', await inspected(browser, team, desktop))
    await take('inspector-dark', await drawer(browser, mail))
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

/** What is in the list of sessions in all of them. */
async function sessions(browser: Browser, url: string): Promise<{ team: string; mail: string }> {
  const page = await open(browser, url)
  await say(page, 'A visit to the mill', 'guest-book')
  await is(page, 'paused')
  await page.getByRole('button', { name: 'New session' }).click()
  await say(page, 'Our jubilee on Saturday', 'email-draft')
  await page.getByRole('button', { name: 'Warm' }).waitFor()
  const mail = page.url()
  await page.getByRole('button', { name: 'New session' }).click()
  await say(page, 'Water mills', 'team')
  await page.locator('.message.agent > .text', { hasText: 'In short' }).waitFor()
  await is(page, 'ready')
  await say(page, 'How much water does a wheel need?', 'flaky')
  await page.locator('.message.agent > .text', { hasText: 'two attempts to answer.' }).waitFor()
  await is(page, 'ready')
  const team = page.url()
  await page.context().close()
  return { team, mail }
}

/** An answer in Markdown, and a run that asks before it does something. */
async function approval(browser: Browser, url: string): Promise<Page> {
  const page = await open(browser, url)
  await say(page, 'How is the weather in Paris?', 'assistant')
  await page.locator('.message.agent > .text', { hasText: 'More is told by' }).waitFor()
  await is(page, 'ready')
  await say(page, 'Mail it to ann@example.com, then pick a color', 'operator')
  await page.locator('.asking').waitFor()
  await is(page, 'paused')
  return page
}

/** Sub-agents, nested, after their notes. */
async function nested(browser: Browser, address: string): Promise<Page> {
  const page = await open(browser, address, dark)
  await page.locator('.message.agent > .text', { hasText: 'In short' }).waitFor()
  await page.locator('.tool[data-tool=researcher]').scrollIntoViewIfNeeded()
  return page
}

/** An object that has filled in, on a phone. */
async function draft(browser: Browser, address: string): Promise<Page> {
  const page = await open(browser, address, phone)
  await page.getByRole('button', { name: 'Warm' }).click()
  await page.locator('.structured[data-status=done]').waitFor()
  await is(page, 'ready')
  return page
}

const inspectorOf = (address: string): string => {
  const { origin, searchParams } = new URL(address)
  return `${origin}/inspect/${encodeURIComponent(searchParams.get('session') ?? '')}`
}

/** The whole page of the inspector, at a place in the midst of the log. */
async function inspected(browser: Browser, address: string, options: BrowserContextOptions): Promise<Page> {
  const page = await open(browser, inspectorOf(address), options)
  await page.locator('.message.agent > .text', { hasText: 'In short' }).waitFor()
  return page
}

/** A chat with its inspector beside it. */
async function drawer(browser: Browser, address: string): Promise<Page> {
  const page = await open(browser, address, dark)
  await page.locator('.structured[data-status=done]').waitFor()
  await page.getByRole('button', { name: 'Inspect' }).click()
  return page
}

/** A worker is killed in the midst of a long answer, and nothing is lost. */
async function faults(browser: Browser, url: string): Promise<Page> {
  const page = await open(browser, url)
  await say(page, 'Write the diary of a mill', 'long')
  await page.locator('.message.agent > .text', { hasText: 'Day 3' }).waitFor()
  await page.getByRole('button', { name: 'Inspect' }).click()
  return page
}

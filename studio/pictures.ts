// The screenshots of the documentation.

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Browser, type BrowserContextOptions, chromium as browserType, type Page } from 'playwright-core'

type Launch = Parameters<typeof browserType.launch>[0]

const desktop = { viewport: { width: 1280, height: 800 } } as const
const dark = { ...desktop, colorScheme: 'dark' } as const
const phone = { viewport: { width: 390, height: 844 }, hasTouch: true } as const

/** Drives the demo and writes screenshots into a folder. Returns their paths. */
export async function takePictures(url: string, folder: string, launch: Launch): Promise<string[]> {
  mkdirSync(folder, { recursive: true })
  const browser = await browserType.launch(launch)
  const files: string[] = []
  const take = async (name: string, page: Page) => {
    const path = join(folder, `${name}.png`)
    // Animations and carets would differ in every screenshot.
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

const open = async (browser: Browser, url: string, options: BrowserContextOptions = desktop): Promise<Page> => {
  const context = await browser.newContext({ reducedMotion: 'reduce', locale: 'en-GB', timezoneId: 'UTC', ...options })
  const page = await context.newPage()
  await page.goto(url)
  return page
}

/** Sends a message to an agent or workflow. */
async function sendMessage(page: Page, text: string, program: string): Promise<void> {
  await page.selectOption('.program', { label: program })
  await page.fill('#input', text)
  await page.press('#input', 'Enter')
}

const is = (page: Page, status: string) =>
  page.locator(`.working[data-status="${status}"]`).waitFor({ state: 'attached' })

/** Waits until the chat shows that it is not at its end. */
const scrolledUp = (page: Page) => page.getByRole('button', { name: 'Scroll to bottom' }).waitFor()

/** Waits until a message of an agent contains a text. */
const waitForText = (page: Page, text: string) =>
  page.locator('.message.agent > .text', { hasText: text }).last().waitFor()

/** Creates the sessions of the list in all screenshots, and opens the inspector of one while it runs. */
async function sessions(browser: Browser, url: string): Promise<{ team: string; paused: string; inspector: Page }> {
  const page = await open(browser, url)
  const another = () => page.getByRole('button', { name: 'New chat' }).click()
  await sendMessage(page, 'A visit to the mill', 'guest-book')
  await is(page, 'paused')
  await another()
  await sendMessage(page, 'Invite the team to our anniversary party on Saturday', 'email-draft')
  await page.getByRole('button', { name: 'Warm' }).click()
  await page.locator('.structured[data-status=done]').waitFor()
  await another()
  await sendMessage(page, 'Email ann@example.com, then pick a color', 'operator')
  await is(page, 'paused')
  const paused = page.url()
  await another()
  await sendMessage(page, 'Water mills', 'team')
  await waitForText(page, 'In short')
  await is(page, 'ready')
  const team = page.url()
  const inspector = await open(browser, inspectorOf(team))
  await waitForText(inspector, 'In short')
  // Only an open page sees the discarded attempt.
  await sendMessage(page, 'How much water does a wheel need?', 'flaky')
  await waitForText(page, 'two attempts to answer.')
  await is(page, 'ready')
  await page.context().close()
  await waitForText(inspector, 'two attempts to answer.')
  await choose(inspector, 'note_finding')
  return { team, paused, inspector }
}

/** Selects the first call of a tool. */
async function choose(page: Page, tool: string): Promise<void> {
  const search = page.getByRole('searchbox', { name: 'Search entries' })
  await search.fill(tool)
  await page.locator('[data-sequence]', { hasText: 'tool-input-available' }).first().click()
  await search.fill('')
  await page.getByRole('heading', { name: 'tool-input-available' }).waitFor()
  await search.blur()
}

/** A tool call and an answer in Markdown. */
async function answer(browser: Browser, url: string): Promise<Page> {
  const page = await open(browser, url)
  await sendMessage(page, 'What is the weather in Paris?', 'assistant')
  await waitForText(page, 'Source: ')
  await is(page, 'ready')
  // The list is updated on a connection of its own.
  await page.locator('[data-session][aria-current=true]', { hasText: 'Done' }).waitFor()
  await page.locator('.message.user').scrollIntoViewIfNeeded()
  await scrolledUp(page)
  return page
}

/** Nested sub-agents. */
async function nested(browser: Browser, url: string): Promise<Page> {
  const page = await open(browser, url, dark)
  await waitForText(page, 'In short')
  await page.locator('.tool[data-tool=researcher]').evaluate(card => card.scrollIntoView())
  await scrolledUp(page)
  return page
}

/** An approval on a phone. */
async function approval(browser: Browser, url: string): Promise<Page> {
  const page = await open(browser, url, phone)
  await page.locator('.pending').waitFor()
  return page
}

const inspectorOf = (url: string): string => {
  const { origin, searchParams } = new URL(url)
  return `${origin}/inspect/${encodeURIComponent(searchParams.get('session') ?? '')}`
}

/** A chat with the inspector drawer. */
async function drawer(browser: Browser, url: string): Promise<Page> {
  const page = await open(browser, url, dark)
  await waitForText(page, 'two attempts to answer.')
  await page.getByRole('button', { name: 'Inspect' }).click()
  await page.getByRole('tab', { name: 'Charts' }).click()
  await page.locator('[role=tabpanel] figure').first().waitFor()
  return page
}

/** The faults panel after a killed worker. */
async function faults(browser: Browser, url: string): Promise<Page> {
  const chat = await open(browser, url)
  await sendMessage(chat, 'Write the diary of a mill', 'long')
  await waitForText(chat, 'Day 1')
  const page = await open(browser, inspectorOf(chat.url()))
  await chat.context().close()
  await page.getByRole('tab', { name: 'Faults' }).click()
  await waitForText(page, 'Day 3')
  await page.getByRole('button', { name: 'Drop connection' }).click()
  await page.locator('[data-fault=drop][data-state=done]').waitFor()
  await waitForText(page, 'Day 9')
  await page.getByRole('button', { name: 'Kill worker' }).click()
  await page.locator('.fault-list', { hasText: 'taken over at entry' }).waitFor()
  await waitForText(page, 'Day 12')
  await page.locator('[data-fault=kill-worker]', { hasText: 'Verified' }).waitFor()
  // Moves the pointer away, so that no hover style shows.
  await page.mouse.move(0, 0)
  await page.locator('.faults').evaluate(panel => panel.closest('[role=tabpanel]')?.scrollTo(0, 0))
  return page
}

// The chat as people have it: the demo's process, as `npm start` starts it, and tabs of a real browser.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Started, started } from '@millrace/example-demo/command'
import { type Browser, chromium as browsers, type Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { root } from '../scripts/command.ts'
import { folder } from '../scripts/folder.fixture.ts'
import { chromium } from '../scripts/services/chromium.ts'

const START = [process.execPath, '--conditions=@millrace/source', join(root, 'scripts', 'start.ts')]

/** A browser, or three processes and a page that is built first, where others need the machine too. */
const START_MS = 60_000

interface StartOptions {
  readonly cwd?: string
  readonly port?: string
  readonly atEnd?: Parameters<typeof started>[3]
}

/** Starts the demo; 1 is the pace for people. */
export const start = (pace: number, { cwd = folder({}), port = '0', atEnd }: StartOptions = {}): Started =>
  started(cwd, START, { PORT: port, DEMO_PACE: String(pace) }, atEnd)

/** A demo for all tests of a file: its address. */
export function house(pace: number): () => string {
  const cwd = mkdtempSync(join(tmpdir(), 'millrace-chat-'))
  afterAll(() => rmSync(cwd, { recursive: true, force: true }))
  const demo = start(pace, { cwd, atEnd: afterAll })
  let url: string
  beforeAll(async () => {
    url = await demo.url
  }, START_MS)
  return () => url
}

export const desktop = { width: 1280, height: 800 }
export const phone = { width: 390, height: 844 }

/** A browser for the tests of a file; what goes wrong in a page fails the test. */
export function stage() {
  let browser: Browser
  const complaints: string[] = []
  beforeAll(async () => {
    browser = await browsers.launch(await chromium())
  }, START_MS)
  afterAll(() => browser.close())
  afterEach(async () => {
    for (const context of browser.contexts()) await context.close()
    expect(complaints.splice(0)).toEqual([])
  })
  return {
    /** A tab of its own at an address. */
    async open(url: string, viewport = desktop): Promise<Tab> {
      const page = await browser.newPage({ viewport })
      page.on('console', message => {
        // The browser itself complains of a server that is away.
        if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) {
          complaints.push(message.text())
        }
      })
      page.on('pageerror', error => complaints.push(error.message))
      await page.goto(url)
      return new Tab(page)
    },
  }
}

/** A tab with the chat in it. */
export class Tab {
  readonly page: Page

  constructor(page: Page) {
    this.page = page
  }

  /** Says something, to an agent or workflow if one is named. */
  async say(text: string, program?: string): Promise<void> {
    if (program !== undefined) await this.page.selectOption('.program', { label: program })
    await this.page.fill('#input', text)
    await this.page.press('#input', 'Enter')
  }

  /** What agents have said themselves. */
  answers(): Promise<string[]> {
    return this.page.locator('.message.agent > .text').allTextContents()
  }

  /** What people have said. */
  said(): Promise<string[]> {
    return this.page.locator('.message.said .text').allTextContents()
  }

  /** Waits until an agent's words hold these. */
  async hears(text: string): Promise<void> {
    await this.page.locator('.message.agent > .text', { hasText: text }).last().waitFor()
  }

  /** Waits until the chat stands so. */
  async is(status: 'ready' | 'streaming' | 'paused' | 'submitted' | 'error'): Promise<void> {
    // Beside it may stand how it was.
    await this.page.locator(`.beside .working[data-status="${status}"]`).waitFor({ state: 'attached' })
  }

  /** Waits until the keyboard is there. */
  async focuses(selector: string): Promise<void> {
    await this.page.locator(`${selector}:focus`).waitFor()
  }

  /** Waits until the connection stands so. */
  async connectionIs(status: string): Promise<void> {
    await this.page.locator(`.connection[data-status="${status}"]`).waitFor()
  }

  /** Clicks a button of this name. */
  async press(name: string): Promise<void> {
    await this.page.getByRole('button', { name, exact: true }).click()
  }
}

/** Expects something to be so before long, on a machine that has other things to do too. */
export const soon = <T>(look: () => T) => expect.poll(look, { timeout: 20_000 })

/** What `long` says of a number. */
export const counted = (count: number): string => Array.from({ length: count }, (_, i) => i + 1).join(' ')

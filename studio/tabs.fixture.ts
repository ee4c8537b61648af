// Tabs of a browser with the studio in them.

import type { Page, ViewportSize } from 'playwright-core'
import { expect, onTestFinished } from 'vitest'
import { testBrowser } from '../packages/react/src/browser.fixture.ts'

export const desktop = { width: 1280, height: 800 }
export const phone = { width: 390, height: 844 }

/** Starts a browser for the tests of the calling file. An error in the console of a tab fails its test. */
export function testTabs() {
  const browser = testBrowser()
  return {
    /** Opens a tab. It is closed at the end of the test. */
    async open(url: string, viewport: ViewportSize = desktop): Promise<Tab> {
      // Animations cost CPU time and change nothing that a test reads.
      const page = await browser.newPage({ viewport, reducedMotion: 'reduce' })
      const errors: string[] = []
      page.on('console', message => {
        // The browser itself reports requests that fail, as they do while a server is down.
        if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) {
          errors.push(message.text())
        }
      })
      page.on('pageerror', error => errors.push(error.message))
      onTestFinished(() => expect(errors, `errors in the console of ${page.url()}`).toEqual([]))
      await page.goto(url)
      return new Tab(page)
    },
  }
}

/** A tab with the studio in it. Everything waits for the page. */
export class Tab {
  readonly page: Page

  constructor(page: Page) {
    this.page = page
  }

  /** Sends a message, to an agent or workflow if one is named. */
  async sendMessage(text: string, program?: string): Promise<void> {
    if (program !== undefined) await this.page.selectOption('.program', { label: program })
    await this.page.fill('#input', text)
    await this.page.press('#input', 'Enter')
  }

  /** Texts of the messages of agents, without those of sub-agents. */
  answers(): Promise<string[]> {
    return this.page.locator('.message.agent > .text').allTextContents()
  }

  /** Texts of the messages of the user. */
  userTexts(): Promise<string[]> {
    return this.page.locator('.message.user .text').allTextContents()
  }

  /** Waits until a message of an agent contains this text. */
  async waitForText(text: string): Promise<void> {
    await this.page.locator('.message.agent > .text', { hasText: text }).last().waitFor()
  }

  /** Waits until the last answer of `long` has counted further than this, and returns how far it has. */
  async hasCounted(beyond: number): Promise<number> {
    const last = async () => Number(/(\d+) *$/.exec((await this.answers()).at(-1) ?? '')?.[1] ?? 0)
    await expect.poll(last).toBeGreaterThan(beyond)
    return last()
  }

  /** Waits for this status of the chat. */
  async is(status: 'ready' | 'streaming' | 'paused' | 'submitted' | 'error'): Promise<void> {
    // Only of the live chat: an earlier state may be shown beside it.
    await this.page.locator(`.beside .working[data-status="${status}"]`).waitFor({ state: 'attached' })
  }

  /** Waits until this element has the focus. */
  async focuses(selector: string): Promise<void> {
    await this.page.locator(`${selector}:focus`).waitFor()
  }

  /** Waits for this status of the connection. */
  async connectionIs(status: string): Promise<void> {
    await this.page.locator(`.connection[data-status="${status}"]`).waitFor()
  }

  /** Clicks the button with this name. */
  async press(name: string): Promise<void> {
    await this.page.getByRole('button', { name, exact: true }).click()
  }

  /** Moves the focus with a key until the focused element has this name. */
  async tabTo(name: RegExp, key = 'Tab'): Promise<void> {
    const MAX_PRESSES = 100
    const passed: string[] = []
    for (let presses = 0; presses < MAX_PRESSES; presses++) {
      const here = await this.page.evaluate(() => {
        const { activeElement } = document
        return activeElement?.getAttribute('aria-label') ?? activeElement?.textContent ?? ''
      })
      if (name.test(here)) return
      passed.push(here.slice(0, 20))
      await this.page.keyboard.press(key)
    }
    throw new Error(`expected ${name} to take the focus, found: ${passed.join(', ')}`)
  }
}

/** The answer of `long` to a number. */
export const countTo = (count: number): string => Array.from({ length: count }, (_, i) => i + 1).join(' ')

// A Chromium for the tests of one file.

import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, onTestFinished } from 'vitest'
import { chromium as installed } from '../../../scripts/services/chromium.ts'

/** Timeout of each step in a page, in ms. Long, because the machine may be loaded: only a failing test reaches it. */
export const PAGE_MS = 120_000

export interface TestBrowser {
  /** Opens an empty page in a context of its own. It is closed at the end of the test. */
  newPage(options?: BrowserContextOptions): Promise<Page>
}

/** Starts a browser before the tests of the calling file and closes it after them. A test that leaves a page open fails. */
export function testBrowser(): TestBrowser {
  let browser: Browser
  beforeAll(async () => {
    browser = await chromium.launch({ ...(await installed()), timeout: PAGE_MS })
  })
  afterAll(() => browser?.close())
  beforeEach(({ onTestFinished }) => {
    // Registered before the hooks of the test, so it runs after them.
    onTestFinished(async () => {
      const contexts = browser.contexts()
      if (contexts.length === 0) return
      const pages = contexts.flatMap(context => context.pages()).map(page => `  ${page.url()}`)
      await Promise.all(contexts.map(context => context.close()))
      throw new Error(`the test left ${pages.length} pages open:\n${pages.join('\n')}`)
    })
  })
  return {
    async newPage(options) {
      const context = await browser.newContext(options)
      onTestFinished(() => context.close())
      context.setDefaultTimeout(PAGE_MS)
      return context.newPage()
    },
  }
}

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildSync, stop } from 'esbuild'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { bundle } from '../../../../../scripts/faults/bundle.ts'
import { firstSeed, reportFailed, reportPlayed, scheduleCount } from '../../../../../scripts/faults/campaign.ts'
import { startChildProcess } from '../../../../../scripts/faults/process.ts'
import { type FaultProxy, proxy } from '../../../../../scripts/faults/proxy.ts'
import { Random } from '../../../../../scripts/faults/random.ts'
import { PAGE_MS, testBrowser } from '../../browser.fixture.ts'
import { ANSWER } from './answer.fixture.ts'

/** From here on three schedules inject every fault, and the second tab opens before each of their three faults once. */
const FIRST_SEED = 359

/** Timeout of a page load, in ms, after which it is retried. */
const LOAD_MS = 30_000

/** Visible state of a message. */
interface VisibleMessage {
  readonly role: string
  readonly status: string
  readonly texts: readonly string[]
}

const browser = testBrowser()
let folder: string

// Marks the body if a fault cut off the script, so that the page is loaded again.
const HTML = `<!doctype html><title>Chat</title><div id="root"></div>
<script type="module" src="/page.js" onerror="document.body.dataset.failed = ''"></script>`

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-page-'))
  bundle(folder, { server: join(import.meta.dirname, 'page-server.fixture.ts') })
  buildSync({
    entryPoints: [join(import.meta.dirname, 'chat-page.fixture.tsx')],
    outfile: join(folder, 'page', 'page.js'),
    bundle: true,
    format: 'esm',
    jsx: 'automatic',
    conditions: ['@millrace/source'],
    define: { 'process.env.NODE_ENV': '"production"' },
  })
  // Ends the worker of esbuild.
  void stop()
  writeFileSync(join(folder, 'page', 'index.html'), HTML)
})

afterAll(() => rmSync(folder, { recursive: true }))

/** A server that can be killed, behind a proxy that injects faults. Both stop at the end of the test. */
class FaultyServer {
  readonly #store: string
  #child = startChildProcess(join(folder, 'server.js'))
  #port = 0
  #proxy: FaultProxy | undefined

  constructor(name: string) {
    this.#store = `sqlite:${join(folder, `${name}.db`)}`
    onTestFinished(async () => {
      await this.#proxy?.stop()
      await this.#child.kill9()
    })
  }

  get proxy(): FaultProxy {
    if (!this.#proxy) throw new Error('start the server first')
    return this.#proxy
  }

  async start(): Promise<void> {
    await this.#child.send({ store: this.#store, folder: join(folder, 'page'), port: this.#port })
    this.#port = (await this.#child.event<{ port: number }>('ready')).port
    this.#proxy ??= await proxy({ host: '127.0.0.1', port: this.#port })
  }

  async killAndRestart(): Promise<void> {
    await this.#child.kill9()
    this.#child = startChildProcess(join(folder, 'server.js'))
    await this.start()
  }
}

/** A tab, and every violation that it showed. */
class Tab {
  readonly problems: string[] = []
  readonly page: Page
  #status = ''
  #length = 0
  #onChange = () => {}

  private constructor(page: Page) {
    this.page = page
  }

  static async open({ proxy }: FaultyServer, session: string): Promise<Tab> {
    const tab = new Tab(await browser.newPage())
    tab.page.on('pageerror', error => tab.problems.push(String(error)))
    await tab.page.exposeFunction('reportMessages', (messages: string) => tab.#check(JSON.parse(messages)))
    await tab.load(() => tab.page.goto(`http://127.0.0.1:${proxy.port}/#${session}`))
    return tab
  }

  /** Loads the page until it is complete: a fault may hit its own files, which nothing resumes. */
  async load(load: () => Promise<unknown>): Promise<void> {
    this.page.setDefaultTimeout(LOAD_MS)
    for (;;) {
      try {
        await load()
        await this.page.locator('main, body[data-failed]').waitFor({ state: 'attached' })
        if ((await this.page.locator('main').count()) > 0) break
      } catch (error) {
        if (this.page.isClosed()) throw error
      }
    }
    this.page.setDefaultTimeout(PAGE_MS)
  }

  #check(messages: readonly VisibleMessage[]): void {
    const answers = messages.filter(({ role }) => role === 'assistant')
    const questions = messages.length - answers.length
    const report = (problem: string) => this.problems.push(`${problem}: ${JSON.stringify(messages).slice(-200)}`)
    if (answers.length > 1) report('the answer is shown twice')
    if (questions > 1) report('the question is shown twice')
    const { texts = [], status = '' } = answers[0] ?? {}
    const [text = ''] = texts
    if (texts.length > 1) report('the text is split')
    if (!ANSWER.startsWith(text)) report('the text is no prefix of the answer')
    if (status === 'sent' && text !== ANSWER) report('the answer has the status sent too early')
    if (status === 'error' || status === 'cancelled') report('the answer failed')
    this.#length = text.length
    this.#status = status
    this.#onChange()
  }

  /** Waits until the visible answer has this length, in characters, or is complete. */
  async waitForLength(length: number): Promise<void> {
    while (this.#length < length && this.#status !== 'sent') {
      await new Promise<void>(resolve => {
        this.#onChange = resolve
      })
    }
  }

  async expectComplete(): Promise<void> {
    await this.page.locator('article[data-role=assistant][data-status=sent]').waitFor()
    expect(await this.page.locator('article[data-role=assistant] p').allTextContents()).toEqual([ANSWER])
  }
}

const FAULTS = [
  'cut',
  'cut',
  'reset',
  'bytes',
  'bytes',
  'stall',
  'refuse',
  'kill',
  'kill',
  'reload',
  'offline',
] as const

type Fault = (typeof FAULTS)[number]

async function inject(fault: Fault, server: FaultyServer, tab: Tab, random: Random): Promise<void> {
  const { proxy } = server
  const { page } = tab
  switch (fault) {
    case 'cut':
      return proxy.cut()
    case 'reset':
      return proxy.reset()
    case 'bytes':
      // In the middle of a frame, on the next connection.
      proxy.next({ down: { cutAt: random.below(3000) } })
      return proxy.cut()
    case 'stall':
      // The connection stays open and carries nothing. The client has to notice by the missing heartbeats.
      await page.locator('main[data-connection=live]').waitFor()
      for (const link of proxy.links) link.stall('down')
      return undefined
    case 'refuse': {
      proxy.refuse(true)
      proxy.cut()
      await proxy.event('refuse')
      return proxy.refuse(false)
    }
    case 'kill':
      return server.killAndRestart()
    case 'reload':
      return tab.load(() => page.reload())
    case 'offline': {
      await page.context().setOffline(true)
      proxy.cut()
      await page.locator('main[data-connection=offline], main[data-connection=connecting]').waitFor()
      return page.context().setOffline(false)
    }
  }
}

async function play(seed: number): Promise<void> {
  const random = new Random(seed)
  const server = new FaultyServer(`schedule-${seed}`)
  await server.start()
  const first = await Tab.open(server, 'session')
  await first.page.click('#send')
  const tabs = [first]
  const openBefore = random.between(0, 2)
  const faults = Array.from({ length: 3 }, () => random.pick(FAULTS))
  for (const [n, fault] of faults.entries()) {
    await first.waitForLength(random.between(n * 500, n * 500 + 400))
    if (n === openBefore) tabs.push(await Tab.open(server, 'session'))
    await inject(fault, server, random.pick(tabs), random)
  }
  for (const tab of tabs) await tab.expectComplete()
  for (const { problems } of tabs) expect(problems, `${faults}`).toEqual([])
  reportPlayed({ faults: faults.length, deaths: faults.filter(fault => fault === 'kill').length })
}

const from = firstSeed(FIRST_SEED)

test.each(Array.from({ length: scheduleCount(3) }, (_, n) => from + n))(
  'two tabs show only prefixes of the answer and end with all of it: schedule %i',
  async seed => {
    try {
      await play(seed)
    } catch (error) {
      const replayCommand = `npm run chaos -- --runs 1 --seed ${seed} packages/react/src/test/faults/page`
      reportFailed({ seed, again: replayCommand })
      const failure = error instanceof Error ? error : new Error(String(error))
      failure.message = `${failure.message}\n  to play it again: ${replayCommand}`
      throw failure
    }
  },
)

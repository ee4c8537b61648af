import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildSync } from 'esbuild'
import { type Browser, chromium as browsers, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bundle } from '../../../../scripts/faults/bundle.ts'
import { type Child, child } from '../../../../scripts/faults/process.ts'
import { type FaultProxy, proxy } from '../../../../scripts/faults/proxy.ts'
import { Random } from '../../../../scripts/faults/random.ts'
import { chromium } from '../../../../scripts/services/chromium.ts'
import { ANSWER } from './text.fixture.ts'

const SCHEDULES = Number(process.env['MILLRACE_SCHEDULES'] ?? Math.ceil(5 * Number(process.env['MILLRACE_RUNS'] ?? 1)))
const FIRST = Number(process.env['MILLRACE_SEED'] ?? 1)

/** What a person could see of a message. */
interface Seen {
  readonly role: string
  readonly status: string
  readonly texts: readonly string[]
}

let folder: string
let browser: Browser
let server: Child
let port = 0
let line: FaultProxy

const serve = async (): Promise<void> => {
  server = child(join(folder, 'server.js'))
  await server.send({ store: `sqlite:${join(folder, 'logs.db')}`, folder: join(folder, 'page'), port })
  port = (await server.event<{ port: number }>('ready')).port
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-page-'))
  bundle(folder, { server: join(import.meta.dirname, 'server.fixture.ts') })
  buildSync({
    entryPoints: [join(import.meta.dirname, 'page.fixture.tsx')],
    outfile: join(folder, 'page', 'page.js'),
    bundle: true,
    format: 'esm',
    jsx: 'automatic',
    conditions: ['@millrace/source'],
    define: { 'process.env.NODE_ENV': '"production"' },
  })
  const html = '<!doctype html><title>Chat</title><div id="root"></div><script type="module" src="/page.js"></script>'
  writeFileSync(join(folder, 'page', 'index.html'), html)
  await serve()
  line = await proxy({ host: '127.0.0.1', port })
  browser = await browsers.launch(await chromium())
}, 60_000)

afterAll(async () => {
  await browser.close()
  await line.stop()
  await server.kill9()
  rmSync(folder, { recursive: true })
})

/** A tab, and whatever was wrong with what could be seen on it. */
class Tab {
  readonly problems: string[] = []
  readonly page: Page
  #last = ''
  #wake = () => {}
  /** How much of the answer it shows. */
  length = 0

  private constructor(page: Page) {
    this.page = page
  }

  static async open(session: string): Promise<Tab> {
    const tab = new Tab(await browser.newPage())
    tab.page.on('pageerror', error => tab.problems.push(String(error)))
    await tab.page.exposeFunction('told', (seen: string) => tab.#look(JSON.parse(seen)))
    await tab.reach(() => tab.page.goto(`http://127.0.0.1:${line.port}/#${session}`))
    return tab
  }

  /** A page is not ours to resume: it is loaded until it is there. */
  async reach(load: () => Promise<unknown>): Promise<void> {
    for (let tries = 0; ; tries++) {
      try {
        await load()
        return await this.page.locator('main').waitFor({ timeout: 5000 })
      } catch (error) {
        if (tries === 5) throw error
      }
    }
  }

  #look(seen: readonly Seen[]): void {
    const answers = seen.filter(({ role }) => role === 'assistant')
    const people = seen.length - answers.length
    const say = (problem: string) => this.problems.push(`${problem}: ${JSON.stringify(seen).slice(-200)}`)
    if (answers.length > 1) say('the answer is there twice')
    if (people > 1) say('the question is there twice')
    const { texts = [], status = '' } = answers[0] ?? {}
    const [text = ''] = texts
    if (texts.length > 1) say('the text is split')
    if (!ANSWER.startsWith(text)) say('what is shown is no beginning of the answer')
    if (status === 'sent' && text !== ANSWER) say('it is done early')
    if (status === 'error' || status === 'cancelled') say('it failed')
    this.length = text.length
    this.#last = status
    this.#wake()
  }

  /** Waits until so much of the answer is shown, or all of it. */
  async shows(length: number): Promise<void> {
    while (this.length < length && this.#last !== 'sent') {
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    }
  }

  async ended(): Promise<void> {
    await this.page.locator('article[data-role=assistant][data-status=sent]').waitFor({ timeout: 60_000 })
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

async function happen(fault: (typeof FAULTS)[number], tab: Tab, random: Random): Promise<void> {
  switch (fault) {
    case 'cut':
      return line.cut()
    case 'reset':
      return line.reset()
    case 'bytes':
      // In the middle of a frame, of whichever connection comes next.
      line.next({ down: { cutAt: random.below(3000) } })
      return line.cut()
    case 'stall':
      // Nothing comes, and nobody says so: the silence itself has to be heard, and how long that is the server has said.
      await tab.page.locator('main[data-connection=live]').waitFor()
      for (const link of line.links) link.stall('down')
      return undefined
    case 'refuse': {
      line.refuse(true)
      line.cut()
      await line.event('refuse')
      return line.refuse(false)
    }
    case 'kill':
      await server.kill9()
      return serve()
    case 'reload':
      return tab.reach(() => tab.page.reload())
    case 'offline': {
      await tab.page.context().setOffline(true)
      line.cut()
      await tab.page.locator('main[data-connection=offline], main[data-connection=connecting]').waitFor()
      return tab.page.context().setOffline(false)
    }
  }
}

test.each(Array.from({ length: SCHEDULES }, (_, n) => FIRST + n))(
  'schedule %i: two tabs end with exactly the text, and showed nothing but beginnings of it',
  { timeout: 120_000 },
  async seed => {
    const random = new Random(seed)
    const session = `s${seed}-${Date.now()}`
    const first = await Tab.open(session)
    await first.page.click('#send')
    const tabs = [first]
    const opens = random.between(0, 2)
    const faults = Array.from({ length: 3 }, () => random.pick(FAULTS))
    for (const [n, fault] of faults.entries()) {
      await first.shows(random.between(n * 500, n * 500 + 400))
      if (n === opens) tabs.push(await Tab.open(session))
      await happen(fault, random.pick(tabs), random)
    }
    if (tabs.length === 1) tabs.push(await Tab.open(session))
    for (const tab of tabs) await tab.ended()
    for (const tab of tabs) {
      expect(tab.problems, `${faults}`).toEqual([])
      await tab.page.close()
    }
  },
)

// Runs the page for the first five minutes as a reader does: its files, its commands, its kill, and its provider.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { type Browser, chromium as browsers, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { blocksOf } from '../docs/site/markdown.ts'
import { textOf } from '../docs/site/stage.ts'
import { mockServer } from '../packages/runtime/src/test/providers/mock-server.fixture.ts'
import { build } from '../studio/build.ts'
import { root } from './command.ts'
import { compileCache } from './compile-cache.ts'
import { packages } from './manifests.ts'
import { chromium } from './services/chromium.ts'
import { blockOf, folderIn, linkPackages, pageAt } from './site-code.fixture.ts'

const PAGE = 'get-started'
const SOURCE = '--conditions=@millrace/source'
const QUESTION = 'Do I need a coat in Ulm?'
const ANSWER = /^It is 21 degrees in Ulm, .* along the river\.$/
const WAIT_MS = 120_000

const blocks = blocksOf(textOf(pageAt(PAGE)))
const commands = blocks
  .filter(({ language }) => language === 'sh')
  .flatMap(({ code }) => code.trim().split('\n'))
  .flatMap(line => line.split(' && '))

let browser: Browser
beforeAll(async () => {
  browser = await browsers.launch({ ...(await chromium()), timeout: WAIT_MS })
})
afterAll(() => browser?.close())

/** The project of the page, bundled by the command of the page. */
function project(): string {
  const folder = folderIn('interop')
  linkPackages(join(folder, 'node_modules'))
  for (const { name, code } of blocks.filter(block => block.name !== '')) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), code)
  }
  const [, ...bundle] =
    commands
      .find(line => line.startsWith('npx esbuild '))
      ?.split(' ')
      .slice(1) ?? []
  const define = '--define:process.env.NODE_ENV="development"'
  execFileSync(join(root, 'node_modules/.bin/esbuild'), [...bundle, SOURCE, define, '--log-level=warning'], {
    cwd: folder,
  })
  return folder
}

interface Started {
  readonly child: ChildProcess
  readonly url: string
  /** The lines that the process has printed so far. */
  readonly lines: readonly string[]
}

/** Starts a program in the folder and waits for its first line, which has its address. */
async function start(folder: string, args: readonly string[], env: Readonly<Record<string, string>>): Promise<Started> {
  const child = spawn(process.execPath, [SOURCE, ...args], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...compileCache, ...env },
  })
  const exit = once(child, 'exit')
  onTestFinished(async () => {
    child.kill('SIGTERM')
    await exit
  })
  const lines: string[] = []
  const output = createInterface(child.stdout)
  output.on('line', line => lines.push(line))
  const [line] = await once(output, 'line')
  const [url = ''] = /http:\/\/127\.0\.0\.1:\d+/.exec(String(line)) ?? []
  expect(url).not.toBe('')
  return { child, url, lines }
}

async function openPage(url: string): Promise<Page> {
  const context = await browser.newContext()
  onTestFinished(() => context.close())
  context.setDefaultTimeout(WAIT_MS)
  const page = await context.newPage()
  await page.goto(url)
  return page
}

async function ask(page: Page): Promise<void> {
  await page.fill('input', QUESTION)
  await page.press('input', 'Enter')
}

const answers = (page: Page) => page.locator('p[data-role=assistant]')

test('the answer continues after the server was killed, and the tool does not run again', async () => {
  expect(commands).toContain('node server.ts')
  const folder = project()
  const first = await start(folder, ['server.ts'], { PORT: '0' })
  const page = await openPage(first.url)
  await ask(page)
  await answers(page).filter({ hasText: 'It is 21 degrees' }).waitFor()
  first.child.kill('SIGKILL')
  await once(first.child, 'exit')
  expect(await answers(page).textContent()).not.toMatch(ANSWER)
  const second = await start(folder, ['server.ts'], { PORT: new URL(first.url).port })
  await answers(page).filter({ hasText: ANSWER }).waitFor()
  expect(await page.locator('p').count()).toBe(2)
  expect(first.lines.slice(1)).toEqual(['Looking up Ulm'])
  expect(second.lines.slice(1)).toEqual([])
  await page.reload()
  await answers(page).filter({ hasText: ANSWER }).waitFor()
})

test('the same app works with the model of a provider', async () => {
  const call = { name: 'weather', arguments: JSON.stringify({ city: 'Ulm' }) }
  const provider = await mockServer({ toolCalls: [call] }, { content: 'No coat, it is 21 degrees.' })
  onTestFinished(provider.close)
  const folder = project()
  const app = readFileSync(join(folder, 'app.ts'), 'utf8')
  writeFileSync(join(folder, 'app.ts'), app.replace("'./model.ts'", "'./provider.ts'"))
  const env = { PORT: '0', ANTHROPIC_API_KEY: 'key-of-a-test', ANTHROPIC_BASE_URL: provider.url }
  const { url, lines } = await start(folder, ['server.ts'], env)
  const page = await openPage(url)
  await ask(page)
  await answers(page).filter({ hasText: 'No coat, it is 21 degrees.' }).waitFor()
  expect(lines.slice(1)).toEqual(['Looking up Ulm'])
  expect(provider.asked).toHaveLength(2)
})

test('the command serves the page and the studio', async () => {
  expect(commands).toContain('npx millrace dev app.ts')
  const main = join(root, 'packages/cli/src/main.ts')
  const { url } = await start(project(), [main, 'dev', 'app.ts', '--port', '0', '--page', await build()], {})
  expect(await (await fetch(`${url}/page.js`)).text()).toContain(QUESTION)
})

test('the install commands name packages that exist', () => {
  const installs = commands.filter(line => line.startsWith('npm install '))
  const names = installs.flatMap(line => line.split(' ').slice(2)).filter(name => !name.startsWith('--'))
  const own = packages(root).map(({ manifest }) => manifest.name)
  const imported = blocks.flatMap(({ code }) => [...code.matchAll(/from '(@?[^'./][^']*)'/g)].map(([, name]) => name))
  const packageOf = (name = ''): string =>
    name
      .split('/')
      .slice(0, name.startsWith('@') ? 2 : 1)
      .join('/')
  expect(names).toEqual(expect.arrayContaining([...new Set(imported.map(packageOf))]))
  expect(names.filter(name => /millrace/.test(name) && !own.includes(name))).toEqual([])
  expect(blockOf('packages/cli', 'sh')).toContain('npx millrace dev ')
})

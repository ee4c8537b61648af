// Runs README.md and docs/get-started.md as a reader does: their files, their commands, the kill, and the provider.
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Browser, chromium as browserType, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { pageAt } from '../docs/site/pages.ts'
import { textOf } from '../docs/site/stage.ts'
import { mockServer } from '../packages/runtime/src/test/providers/mock-server.fixture.ts'
import { build } from '../studio/build.ts'
import { root } from './command.ts'
import { packages } from './manifests.ts'
import { type PageProject, pageProjectOf, type RunningProgram, startProgram, writeProject } from './page-project.ts'
import { drawKill } from './recording/draw-kill.ts'
import { ANSWER, QUESTION, recordKill } from './recording/record-kill.ts'
import { chromium } from './services/chromium.ts'
import { blockOf, folderInPackage } from './site-code.fixture.ts'

const WAIT_MS = 120_000
const guide = pageProjectOf('get-started')
const readme = pageProjectOf('overview')

let browser: Browser
beforeAll(async () => {
  browser = await browserType.launch({ ...(await chromium()), timeout: WAIT_MS })
})
afterAll(() => browser?.close())

/** The project of a page in a folder that is removed after the test. */
function writeToTemporaryFolder(project: PageProject): string {
  const folder = folderInPackage('interop')
  writeProject(project, folder)
  return folder
}

/** Starts a program and stops it after the test. */
async function start(
  folder: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<RunningProgram> {
  const program = await startProgram(folder, args, env)
  onTestFinished(async () => {
    const exit = once(program.child, 'exit')
    program.child.kill('SIGTERM')
    await exit
  })
  return program
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
  expect(guide.commands).toContain('node server.ts')
  const recording = await recordKill(writeToTemporaryFolder(guide), browser)
  const { events, port } = recording
  const listening = `Listening on http://127.0.0.1:${port}`
  const terminal = events.flatMap(event => (event.type === 'command' || event.type === 'output' ? [event.line] : []))
  expect(terminal).toEqual([
    'node server.ts',
    listening,
    'Looking up Ulm',
    expect.stringMatching(/^kill -9 \d+$/),
    'node server.ts',
    listening,
  ])
  const killed = events.findIndex(event => event.type === 'command' && event.line.startsWith('kill'))
  const texts = (list: typeof events) => list.flatMap(event => (event.type === 'answer' ? [event.text] : []))
  expect(texts(events.slice(0, killed)).at(-1)).not.toMatch(ANSWER)
  expect(texts(events).at(-1)).toMatch(ANSWER)
  const picture = drawKill(recording)
  for (const word of ['Looking up Ulm', 'kill -9', QUESTION, 'river.']) expect(picture).toContain(word)
  for (const [, name = ''] of picture.matchAll(/animation-name:(\w+)/g))
    expect(picture).toContain(`@keyframes ${name}{`)
  const page = await openPage('about:blank')
  const isImage = page.evaluate(async source => {
    const image = new Image()
    image.src = `data:image/svg+xml,${encodeURIComponent(source)}`
    await image.decode()
    return image.naturalWidth > 0
  }, picture)
  expect(await isImage).toBe(true)
})

/** Starts the app of Get started with the model of a provider, and opens its page. */
async function startWithProvider(provider: Awaited<ReturnType<typeof mockServer>>) {
  onTestFinished(provider.close)
  const folder = writeToTemporaryFolder(guide)
  const app = readFileSync(join(folder, 'app.ts'), 'utf8')
  writeFileSync(join(folder, 'app.ts'), app.replace("'./model.ts'", "'./provider.ts'"))
  const env = { PORT: '0', ANTHROPIC_API_KEY: 'key-of-a-test', ANTHROPIC_BASE_URL: provider.url }
  const { url, lines } = await start(folder, ['server.ts'], env)
  return { page: await openPage(url), lines }
}

test('the page shows why a run failed', async () => {
  const { page } = await startWithProvider(await mockServer({ error: { message: 'invalid x-api-key' }, status: 401 }))
  await ask(page)
  await page.getByRole('alert').filter({ hasText: /key/i }).waitFor()
})

test('the same app works with the model of a provider', async () => {
  const call = { name: 'weather', arguments: JSON.stringify({ city: 'Ulm' }) }
  const provider = await mockServer({ toolCalls: [call] }, { content: 'No coat, it is 21 degrees.' })
  const { page, lines } = await startWithProvider(provider)
  await ask(page)
  await answers(page).filter({ hasText: 'No coat, it is 21 degrees.' }).waitFor()
  expect(lines.slice(1)).toEqual(['Looking up Ulm'])
  expect(provider.requestBodies).toHaveLength(2)
})

test('the compiler settings of get-started accept its files', () => {
  const folder = writeToTemporaryFolder(guide)
  expect(guide.files.map(({ name }) => name)).toContain('tsconfig.json')
  const tsc = join(root, 'node_modules/.bin/tsc')
  expect(spawnSync(tsc, ['-p', folder], { encoding: 'utf8' })).toMatchObject({ stdout: '', status: 0 })
})

test('the command serves the page and the studio', async () => {
  expect(guide.commands).toContain('npx millrace dev app.ts')
  const main = join(root, 'packages/cli/src/main.ts')
  const { url } = await start(
    writeToTemporaryFolder(guide),
    [main, 'dev', 'app.ts', '--port', '0', '--page', await build()],
    {},
  )
  expect(await (await fetch(`${url}/page.js`)).text()).toContain(QUESTION)
})

test('the server and the page of the README run as written', async () => {
  expect(readme.files.map(({ name }) => name)).toEqual(['server.ts', 'page.tsx'])
  expect(readme.commands).toContain('node server.ts')
  const { url } = await start(writeToTemporaryFolder(readme), ['server.ts'], { PORT: '0' })
  const page = await openPage(url)
  await page.fill('input', 'How warm is it in Ulm?')
  await page.press('input', 'Enter')
  await page.locator('p', { hasText: 'It is 21 degrees in Ulm.' }).waitFor()
  await page.reload()
  await page.locator('p', { hasText: 'It is 21 degrees in Ulm.' }).waitFor()
  expect(await page.inputValue('input')).toBe('')
})

test.each([
  ['get-started', guide],
  ['the README', readme],
] as const)('the install commands of %s name packages that exist', (_, { commands, files }) => {
  const installs = commands.filter(line => line.startsWith('npm install '))
  const names = installs.flatMap(line => line.split(' ').slice(2)).filter(name => !name.startsWith('--'))
  const packageNames = packages(root).map(({ manifest }) => manifest.name)
  const imported = files.flatMap(({ code }) => [...code.matchAll(/from '(@?[^'./][^']*)'/g)].map(([, name]) => name))
  const packageOf = (name = ''): string =>
    name
      .split('/')
      .slice(0, name.startsWith('@') ? 2 : 1)
      .join('/')
  expect(names).toEqual(expect.arrayContaining([...new Set(imported.map(packageOf))]))
  expect(names.filter(name => /millrace/.test(name) && !packageNames.includes(name))).toEqual([])
})

test.each(['overview', 'get-started'])('the command of %s that packs the packages exists', path => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  expect(textOf(pageAt(path))).toContain('`npm run tarballs`')
  expect(scripts).toHaveProperty('tarballs')
})

test('the README of the command shows the command that Get started uses', () => {
  expect(blockOf('packages/cli', 'sh')).toContain('npx millrace dev ')
})

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { agent, scriptedModel, tool } from '@millrace/runtime'
import { type Listening, millrace } from '@millrace/server'
import { buildSync, stop } from 'esbuild'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { testBrowser } from './browser.fixture.ts'

/** Shows all components of the guide on one page. */
const MAIN = `
import { ChatProvider } from '@millrace/react'
import { version } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import { Approvals } from './approvals.tsx'
import { Draft } from './draft.tsx'
import { Page } from './page.tsx'

async function* stream() {
  const head = { type: 'structured-data', streamId: 'draft', dataType: 'mail' }
  yield { ...head, kind: 'set', path: 'subject', value: 'Flour' }
  yield { ...head, kind: 'final', data: { subject: 'Flour', body: 'Two sacks.' } }
}
const snapshot = await (await fetch('/api/sessions/before')).json()
createRoot(document.getElementById('root')).render(
  <>
    <b>{version}</b>
    <div id="app"><App /></div>
    <div id="page"><Page session="before" snapshot={snapshot} /></div>
    <div id="draft"><Draft open={stream} /></div>
    <div id="approvals"><ChatProvider agent="clerk" session="sale"><Approvals /></ChatProvider></div>
  </>,
)`

const home = join(import.meta.dirname, '..')
let folder: string
const browser = testBrowser()

beforeAll(() => {
  folder = mkdtempSync(join(home, '.example-'))
  const guide = readFileSync(join(home, '../../docs/guide/react.md'), 'utf8')
  for (const [, name = '', block = ''] of guide.matchAll(/```tsx (\S+)\n(.*?)```/gs)) {
    writeFileSync(join(folder, name), block)
  }
  writeFileSync(join(folder, 'main.tsx'), MAIN)
  mkdirSync(join(folder, 'public'))
  writeFileSync(
    join(folder, 'public', 'index.html'),
    '<!doctype html><title>Guide</title><div id="root"></div><script type="module" src="/main.js"></script>',
  )
})

/** The page, in a version of React. */
function build(react: string): void {
  const older = Object.fromEntries(['react', 'react-dom'].map(name => [name, join(home, 'node_modules', `${name}-18`)]))
  buildSync({
    entryPoints: [join(folder, 'main.tsx')],
    outdir: join(folder, 'public'),
    bundle: true,
    format: 'esm',
    target: 'es2022',
    jsx: 'automatic',
    conditions: ['@millrace/source'],
    define: { 'process.env.NODE_ENV': '"production"' },
    alias: react === '18' ? older : {},
  })
  // Ends the worker of esbuild.
  void stop()
}

async function serve(): Promise<Listening> {
  const model = scriptedModel(({ lastText }) => ({ text: `You said: ${lastText}` }))
  const input = z.object({ euros: z.number() })
  const pay = tool({ name: 'pay', inputSchema: input, approval: true, execute: ({ euros }) => `${euros} paid` })
  const script = [{ calls: [{ name: 'pay', input: { euros: 4 } }] }, { text: 'Paid.' }]
  const clerk = agent({ name: 'clerk', model: scriptedModel(script), tools: [pay] })
  const app = millrace({
    store: 'memory:',
    agents: [agent({ name: 'echo', model }), clerk],
    static: join(folder, 'public'),
    logger: { warn() {}, error: console.error },
  })
  const server = await app.listen({ port: 0 })
  onTestFinished(() => server.close())
  const runtime = await app.runtime()
  await (await runtime.start({ session: 'before', agent: 'echo', input: 'Before.' })).result()
  await (await runtime.start({ session: 'sale', agent: 'clerk', input: 'Pay.' })).result()
  return server
}

afterAll(() => rmSync(folder, { recursive: true }))

test.each(['18', '19'])('the components of the guide work as written, in React %s', async react => {
  build(react)
  const server = await serve()
  const page = await browser.newPage()
  const pageErrors: string[] = []
  page.on('pageerror', error => pageErrors.push(error.message))
  page.on('console', message => message.type() === 'error' && pageErrors.push(message.text()))
  await page.goto(server.url)
  await page.locator('b', { hasText: new RegExp(`^${react}`) }).waitFor()
  await page.click('#app button') // There is nothing to send.
  await page.fill('#app input', 'Hello')
  await page.click('#app button')
  await page.locator('#app p[data-role=assistant]', { hasText: 'You said: Hello' }).waitFor()
  expect(await page.locator('#app p').count()).toBe(2)
  expect(await page.inputValue('#app input')).toBe('')
  expect(await page.locator('#page p').allTextContents()).toEqual(['Before.', 'You said: Before.'])
  for (let n = 0; n < 2; n++) {
    await page.click('#draft button')
    await page.locator('#draft pre[data-status=done]', { hasText: 'Two sacks.' }).waitFor()
  }
  await page.click('#draft button >> nth=1')
  await page.locator('#draft pre').waitFor({ state: 'detached' })
  expect(await page.locator('#approvals pre').textContent()).toBe('{\n  "euros": 4\n}')
  await page.click('#approvals button')
  await page.locator('#approvals section').waitFor({ state: 'detached' })
  await page.reload()
  await page.locator('#app p[data-role=assistant]', { hasText: 'You said: Hello' }).waitFor()
  // The browser logs the 404 of a session without messages.
  expect(pageErrors.filter(pageError => !pageError.includes('404'))).toEqual([])
})

// @vitest-environment jsdom
import { readFileSync } from 'node:fs'
import { StrictMode } from 'react'
import { flushSync } from 'react-dom'
import { createRoot } from 'react-dom/client'
import { expect, onTestFinished, test, vi } from 'vitest'
import { inEmptyFolder } from '../page.fixture.ts'
import { messagesOf, Page } from './guide-page.tsx'
import { app } from './guide-server.ts'

// Not by `import.meta.url`, which is a page's address in this environment.
const read = (path: string) => readFileSync(`${import.meta.dirname}/${path}`, 'utf8')

/** The page of the guide, with what was said before, and a way to press its buttons. */
async function open(id: string) {
  const element = document.body.appendChild(document.createElement('div'))
  const root = createRoot(element)
  const messages = await messagesOf(id)
  const node = <Page id={id} messages={messages} />
  // In a page of its own, as React's own tools have it in development: effects run twice.
  flushSync(() => root.render(<StrictMode>{node}</StrictMode>))
  const press = (text: string) =>
    [...element.querySelectorAll('button')].find(({ textContent }) => textContent === text)?.click()
  const close = () => root.unmount()
  onTestFinished(close)
  return { element, press, close }
}

test('the page of the guide runs as it is printed there, and goes on where it was when it is loaded again', async () => {
  const guide = read('../../docs/guide/migrate/ai-sdk.md')
  expect(guide).toContain(`\`\`\`tsx\n${read('./guide-page.tsx')}\`\`\``)
  expect(guide).toContain(`\`\`\`ts\n${read('./guide-server.ts')}\`\`\``)
  inEmptyFolder()
  onTestFinished(() => app.close())
  const { url } = await app.listen({ port: 0 })
  const reach = globalThis.fetch
  // A page's own address stands before its paths.
  vi.stubGlobal('fetch', (input: string, init: RequestInit) => reach(new URL(input, url), init))
  onTestFinished(() => void vi.unstubAllGlobals())
  const first = await open('mill')
  await expect.poll(() => first.element.querySelector('b')?.textContent).toBe('ready')
  first.press('Send')
  await expect.poll(() => first.element.textContent).toContain('Approve tool-sell')
  first.close()
  const second = await open('mill')
  await expect.poll(() => second.element.textContent).toContain('Approve tool-sell')
  await expect.poll(() => second.element.querySelector('b')?.textContent).toBe('ready')
  expect(second.element.querySelectorAll('p')).toHaveLength(1)
  second.press('Approve tool-sell')
  await expect.poll(() => second.element.textContent).toContain('tool-sell: output-availableHere it is.')
  await expect.poll(() => second.element.querySelector('b')?.textContent).toBe('ready')
})

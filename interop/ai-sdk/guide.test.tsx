// @vitest-environment jsdom
import { readFileSync } from 'node:fs'
import { expect, onTestFinished, test, vi } from 'vitest'
import { listenInEmptyFolder } from '../guide-example.fixture.ts'
import { click, mount } from '../mount.fixture.tsx'
import { messagesOf, Page } from './guide-page.tsx'
import { app } from './guide-server.ts'

// In this environment `import.meta.url` is the address of a page.
const read = (path: string) => readFileSync(`${import.meta.dirname}/${path}`, 'utf8')

/** The page of the guide with the history of a chat, in strict mode: effects run twice. */
const open = async (id: string) => mount(<Page id={id} messages={await messagesOf(id)} />, { isStrict: true })

test('the page of the guide runs as printed, and resumes after a reload', async () => {
  const guide = read('../../docs/guide/migrate/ai-sdk.md')
  expect(guide).toContain(`\`\`\`tsx\n${read('./guide-page.tsx')}\`\`\``)
  expect(guide).toContain(`\`\`\`ts\n${read('./guide-server.ts')}\`\`\``)
  const url = await listenInEmptyFolder(app)
  const reach = globalThis.fetch
  // The page fetches paths of its own origin.
  vi.stubGlobal('fetch', (input: string, init: RequestInit) => reach(new URL(input, url), init))
  onTestFinished(() => void vi.unstubAllGlobals())
  const first = await open('mill')
  await expect.poll(() => first.element.querySelector('b')?.textContent).toBe('ready')
  click(first.element, 'Send')
  await expect.poll(() => first.element.textContent).toContain('Approve tool-sell')
  // `useChat` stops a run that still streams when it is unmounted. A reload does not.
  await expect.poll(() => first.element.querySelector('b')?.textContent).toBe('ready')
  first.unmount()
  const second = await open('mill')
  await expect.poll(() => second.element.textContent).toContain('Approve tool-sell')
  await expect.poll(() => second.element.querySelector('b')?.textContent).toBe('ready')
  expect(second.element.querySelectorAll('p')).toHaveLength(1)
  click(second.element, 'Approve tool-sell')
  await expect.poll(() => second.element.textContent).toContain('tool-sell: output-availableHere it is.')
  await expect.poll(() => second.element.querySelector('b')?.textContent).toBe('ready')
})

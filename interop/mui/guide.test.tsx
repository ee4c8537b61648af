// @vitest-environment jsdom
import { readFileSync } from 'node:fs'
import { createElement } from 'react'
import { expect, onTestFinished, test, vi } from 'vitest'
import { listenInEmptyFolder } from '../guide-example.fixture.ts'
import { click, mount } from '../mount.fixture.tsx'
import { app } from './guide-server.ts'

// In this environment `import.meta.url` is the address of a page.
const read = (path: string) => readFileSync(`${import.meta.dirname}/${path}`, 'utf8')

test('the page of the guide runs as printed', async () => {
  const guide = read('../../docs/guide/migrate/mui.md')
  for (const [language, file] of [
    ['tsx', 'guide-page.tsx'],
    ['ts', 'guide-server.ts'],
  ])
    expect(guide).toContain(`\`\`\`${language}\n${read(`./${file}`)}\`\`\``)
  const url = await listenInEmptyFolder(app)
  const reach = globalThis.fetch
  // The page fetches paths of its own origin.
  vi.stubGlobal('fetch', (input: string, init: RequestInit) => reach(new URL(input, url), init))
  onTestFinished(() => void vi.unstubAllGlobals())
  const { Page } = await import('./guide-page.tsx')
  const { element } = mount(createElement(Page))
  click(element, 'Send')
  await expect.poll(() => element.textContent).toContain('Approve sell')
  click(element, 'Approve sell')
  await expect.poll(() => element.textContent).toContain('sell: output-availableHere it is.')
})

// @vitest-environment jsdom
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { listenInEmptyFolder } from '../guide-example.fixture.ts'
import { click, mount } from '../mount.fixture.tsx'
import { Chat as Current } from './current-page.tsx'
import { app } from './guide-server.ts'
import { Chat as Legacy } from './legacy-page.tsx'

// In this environment `import.meta.url` is the address of a page.
const read = (path: string) => readFileSync(`${import.meta.dirname}/${path}`, 'utf8')

test('the pages of the guide run as printed', async () => {
  const guide = read('../../docs/guide/migrate/tanstack.md')
  for (const file of ['guide-server.ts', 'current-page.tsx', 'legacy-page.tsx']) {
    const language = file.split('.').at(-1)
    // The old package has an alias here.
    expect(guide).toContain(`\`\`\`${language}\n${read(`./${file}`).replace('seed-tanstack-', '@tanstack/')}\`\`\``)
  }
  const url = await listenInEmptyFolder(app)
  const api = new URL('/api/tanstack/seller', url).href
  const pages = [mount(<Current url={api} threadId="now" />), mount(<Legacy url={api} id="before" />)]
  for (const { element: page } of pages) {
    await expect.poll(() => page.querySelector('[title=send]')).not.toBeNull()
    click(page, 'send')
    await expect.poll(() => page.querySelector('[title=approve]')).not.toBeNull()
    click(page, 'approve')
    await expect.poll(() => page.textContent).toContain('Here it is.')
    expect(page.querySelector('em')).toBeNull()
  }
})

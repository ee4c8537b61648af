// @vitest-environment jsdom
import { readFileSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { inEmptyFolder } from '../page.fixture.ts'
import { Chat as Current } from './current-page.tsx'
import { click, show } from './dom.fixture.tsx'
import { app } from './guide-server.ts'
import { Chat as Seed } from './seed-page.tsx'

// Not by `import.meta.url`, which is a page's address in this environment.
const read = (path: string) => readFileSync(`${import.meta.dirname}/${path}`, 'utf8')

test('the pages of the guide run as they are printed there', async () => {
  const guide = read('../../docs/guide/migrate/tanstack.md')
  for (const file of ['guide-server.ts', 'current-page.tsx', 'seed-page.tsx']) {
    const language = file.split('.').at(-1)
    // The old package has its own name here, beside the new one.
    expect(guide).toContain(`\`\`\`${language}\n${read(`./${file}`).replace('seed-tanstack-', '@tanstack/')}\`\`\``)
  }
  inEmptyFolder()
  onTestFinished(() => app.close())
  const { url } = await app.listen({ port: 0 })
  const api = new URL('/api/tanstack/seller', url).href
  for (const page of [show(<Current url={api} threadId="now" />), show(<Seed url={api} id="before" />)]) {
    await expect.poll(() => page.querySelector('[title=send]')).not.toBeNull()
    click(page, 'send')
    await expect.poll(() => page.querySelector('[title=approve]')).not.toBeNull()
    click(page, 'approve')
    await expect.poll(() => page.textContent).toContain('Here it is.')
    expect(page.querySelector('em')).toBeNull()
  }
})

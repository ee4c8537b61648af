// @vitest-environment jsdom
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ReactNode } from 'react'
import { expect, test, vi } from 'vitest'
import { mount, waitUntil } from './dom.fixture.tsx'
import { echo, serve } from './in-process-server.fixture.ts'

const home = join(import.meta.dirname, '..')

test('the example in the README of the package works as written', async () => {
  const [, program = ''] = /```tsx\n(.*?)```/s.exec(readFileSync(join(home, 'README.md'), 'utf8')) ?? []
  // Inside the package, so that the example can import it by name.
  const folder = mkdtempSync(join(home, '.example-'))
  try {
    writeFileSync(join(folder, 'app.tsx'), program)
    const { App } = (await import(join(folder, 'app.tsx'))) as { App: () => ReactNode }
    const { fetch } = serve(echo)
    vi.spyOn(globalThis, 'fetch').mockImplementation((path, init) => fetch(`http://localhost${path}`, init))
    const page = mount(<App />)
    page.element.querySelector('button')?.click()
    await waitUntil(
      () => page.text === 'HelloYou said: HelloSay hello' && !page.element.querySelector('button')?.disabled,
    )
    expect(page.element.querySelectorAll('p')).toHaveLength(2)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

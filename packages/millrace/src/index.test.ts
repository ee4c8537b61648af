import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as client from '@millrace/client'
import * as log from '@millrace/log'
import * as protocol from '@millrace/protocol'
import * as runtime from '@millrace/runtime'
import * as server from '@millrace/server'
import { expect, test } from 'vitest'
import * as browser from './browser.ts'
import * as millrace from './index.ts'

const home = join(import.meta.dirname, '..')
const readme = readFileSync(join(home, 'README.md'), 'utf8')

test('what the server and the runtime offer is here, and is the same', () => {
  expect(millrace).toMatchObject(runtime)
  expect(millrace).toMatchObject(server)
  expect([millrace.openStore, millrace.memoryStore]).toEqual([log.openStore, log.memoryStore])
})

test('what the client offers is here for a page, and nothing of a server', () => {
  expect(browser).toMatchObject(client)
  expect([browser.applyStructuredChunk, browser.reduceStructuredChunks]).toEqual([
    protocol.applyStructuredChunk,
    protocol.reduceStructuredChunks,
  ])
  expect(browser).not.toHaveProperty('millrace')
})

test('the README names what is here', () => {
  const table = readme.slice(readme.indexOf('| | |'))
  const names = [...table.matchAll(/^\| [^|]+ \| (.+) \|$/gm)].flatMap(([, cell = '']) => [
    ...cell.matchAll(/`([a-z]\w*[A-Z]\w*|[A-Z]\w+)`/g),
  ])
  expect(names.length).toBeGreaterThan(15)
  for (const [, name = ''] of names) expect(millrace).toHaveProperty(name)
  const hooks = Object.keys(runtime).filter(name => /^use[A-Z]/.test(name))
  for (const hook of hooks) expect(table).toContain(`\`${hook}\``)
})

test('the README runs as written, again and again', () => {
  const program = [...readme.matchAll(/```ts\n(.*?)```/gs)].map(([, block]) => block).join('\n')
  // Inside the package, so that it may import it by its own name.
  const folder = mkdtempSync(join(home, '.example-'))
  try {
    writeFileSync(join(folder, 'example.ts'), program)
    const run = () =>
      execFileSync(process.execPath, ['--conditions=@millrace/source', 'example.ts'], {
        cwd: folder,
        encoding: 'utf8',
        // What the logger says of a server without authorize.
        stdio: ['ignore', 'pipe', 'ignore'],
      })
    const printed = 'It is warm in Ulm. completed\ntrue\nAnn is invited.\n'
    expect([run(), run()]).toEqual([printed, printed])
  } finally {
    rmSync(folder, { recursive: true })
  }
})

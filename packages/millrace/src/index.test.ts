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

test('re-exports the definitions, hooks, server, stores and errors of its packages unchanged', () => {
  expect({ ...log, ...runtime, ...server }).toMatchObject(millrace)
})

test('does not export the internals of its packages', () => {
  expect(Object.keys(millrace).filter(name => /^[A-Z0-9_]+$/.test(name))).toEqual([])
  expect(millrace).not.toHaveProperty('StreamManager')
})

test('millrace/browser re-exports the client and nothing of the server', () => {
  expect(browser).toMatchObject(client)
  expect([browser.applyStructuredChunk, browser.reduceStructuredChunks]).toEqual([
    protocol.applyStructuredChunk,
    protocol.reduceStructuredChunks,
  ])
  expect(browser).not.toHaveProperty('millrace')
})

test('the README lists only exported names, and every hook', () => {
  const table = readme.slice(readme.indexOf('| | |'))
  const names = [...table.matchAll(/^\| [^|]+ \| (.+) \|$/gm)].flatMap(([, cell = '']) => [
    ...cell.matchAll(/`([a-z]\w*[A-Z]\w*|[A-Z]\w+)`/g),
  ])
  expect(names.length).toBeGreaterThan(15)
  for (const [, name = ''] of names) expect(millrace).toHaveProperty(name)
  const hooks = Object.keys(runtime).filter(name => /^use[A-Z]/.test(name))
  for (const hook of hooks) expect(table).toContain(`\`${hook}\``)
})

test('the README runs as written, repeatedly', () => {
  const program = [...readme.matchAll(/```ts\n(.*?)```/gs)].map(([, block]) => block).join('\n')
  // Inside the package, so that it can import the package by name.
  const folder = mkdtempSync(join(home, '.example-'))
  try {
    writeFileSync(join(folder, 'example.ts'), program)
    const run = () =>
      execFileSync(process.execPath, ['--conditions=@millrace/source', 'example.ts'], {
        cwd: folder,
        encoding: 'utf8',
        // The warning about the missing authorize option.
        stdio: ['ignore', 'pipe', 'ignore'],
      })
    const printed = 'It is warm in Ulm. completed\ntrue\nAnn is invited.\n'
    expect([run(), run()]).toEqual([printed, printed])
  } finally {
    rmSync(folder, { recursive: true })
  }
})

import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

test('the example in the README runs as written', () => {
  const root = join(import.meta.dirname, '..')
  const example = /```ts\n(.*?)```/s.exec(readFileSync(join(root, 'README.md'), 'utf8'))?.[1] as string
  // Inside the package, so that it can import the package by name.
  const folder = mkdtempSync(join(root, '.example-'))
  try {
    const file = join(folder, 'example.ts')
    writeFileSync(file, example)
    const out = execFileSync(process.execPath, ['--conditions=@millrace/source', file], { encoding: 'utf8' })
    expect(out).toContain("text: 'Hello, world.'")
  } finally {
    rmSync(folder, { recursive: true })
  }
})

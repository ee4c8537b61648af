import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const home = join(import.meta.dirname, '..')

test('the example in the README of the package runs as written', () => {
  const [, program = ''] = /```ts\n(.*?)```/s.exec(readFileSync(join(home, 'README.md'), 'utf8')) ?? []
  // Inside the package, so that the example can import it by name.
  const cwd = mkdtempSync(join(home, '.example-'))
  try {
    writeFileSync(join(cwd, 'example.ts'), program)
    const args = ['--conditions=@millrace/source', 'example.ts']
    const output = execFileSync(process.execPath, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
    expect(output).toBe("1\n2\n[ 'user: sent', 'assistant: sent' ]\n")
  } finally {
    rmSync(cwd, { recursive: true })
  }
})

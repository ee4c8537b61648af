import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

test('the example in the README runs as written', () => {
  const root = join(import.meta.dirname, '..')
  const example = /```ts\n(.*?)```/s.exec(readFileSync(join(root, 'README.md'), 'utf8'))?.[1] as string
  // Inside the package, so that it may import it by its own name.
  const folder = mkdtempSync(join(root, '.example-'))
  try {
    writeFileSync(join(folder, 'example.ts'), example)
    const out = execFileSync(process.execPath, ['--conditions=@millrace/source', 'example.ts'], {
      cwd: folder,
      encoding: 'utf8',
    })
    expect(out).toBe('It is warm in Ulm. completed\n')
  } finally {
    rmSync(folder, { recursive: true })
  }
})

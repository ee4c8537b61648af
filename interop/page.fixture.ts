import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** Runs the TypeScript of a page of the guide as an application would, with some more at its end; gives what is printed. */
export function run(page: string, more = ''): string {
  const text = readFileSync(join(import.meta.dirname, '../docs/guide', page), 'utf8')
  const program = [...text.matchAll(/```ts\n(.*?)```/gs)].map(([, block]) => block).join('\n')
  // Inside the package, where what other systems publish is found.
  const cwd = mkdtempSync(join(import.meta.dirname, '.example-'))
  try {
    writeFileSync(join(cwd, 'example.ts'), `${program}\n${more}`)
    return execFileSync(process.execPath, ['--conditions=@millrace/source', 'example.ts'], {
      cwd,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
      timeout: 60_000,
    })
  } finally {
    rmSync(cwd, { recursive: true })
  }
}

/** Lets a test work in an empty folder, where what it keeps is nobody else's. */
export function inEmptyFolder(): void {
  const before = process.cwd()
  const folder = mkdtempSync(join(tmpdir(), 'millrace-guide-'))
  process.chdir(folder)
  onTestFinished(() => {
    process.chdir(before)
    rmSync(folder, { recursive: true, force: true })
  })
}

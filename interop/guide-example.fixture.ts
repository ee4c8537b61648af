import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { App } from '@millrace/server'
import { onTestFinished } from 'vitest'

/** Runs the TypeScript blocks of a page of the guide as one program, followed by `more`. Returns its output. */
export function runGuide(page: string, more = ''): string {
  const text = readFileSync(join(import.meta.dirname, '../docs/guide', page), 'utf8')
  const program = [...text.matchAll(/```ts\n(.*?)```/gs)].map(([, block]) => block).join('\n')
  // Inside this package, which has the packages of other systems installed.
  const cwd = mkdtempSync(join(import.meta.dirname, '.example-'))
  try {
    writeFileSync(join(cwd, 'example.ts'), `${program}\n${more}`)
    return execFileSync(process.execPath, ['--conditions=@millrace/source', 'example.ts'], {
      cwd,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    })
  } finally {
    rmSync(cwd, { recursive: true })
  }
}

/** Starts the app of a guide in an empty folder for its data. Returns its URL. The app stops at the end of the test. */
export async function listenInEmptyFolder(app: App): Promise<string> {
  const before = process.cwd()
  const folder = mkdtempSync(join(tmpdir(), 'millrace-guide-'))
  process.chdir(folder)
  onTestFinished(() => {
    process.chdir(before)
    rmSync(folder, { recursive: true, force: true })
  })
  const listening = await app.listen({ port: 0 })
  onTestFinished(async () => {
    await app.close()
    // Keep-alive connections of clients would delay the close.
    listening.server.closeAllConnections()
    await listening.close()
  })
  return listening.url
}

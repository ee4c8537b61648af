import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { FileCheckRequest, FileCheckResult } from './file-child.ts'
import { type Finding, fail } from './finding.ts'

/** The extension of the child program: `ts` in the sources, `js` in the build. */
const EXTENSION = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
/** The timeout for a file and its store, in ms. */
const TIMEOUT_MS = 30_000
const STDERR = 2

/** Checks that a file has an app and that its store works. Uses a child process, so that the file can neither block this one nor print to its output. */
export async function checkFile(request: FileCheckRequest): Promise<readonly Finding[]> {
  const program = fileURLToPath(new URL(`./file-child.${EXTENSION}`, import.meta.url))
  const child = fork(program, [JSON.stringify(request)], { stdio: ['ignore', STDERR, STDERR, 'ipc'] })
  const { promise, resolve } = Promise.withResolvers<readonly Finding[]>()
  const timeout = setTimeout(() => {
    const next = 'check for a top-level await that never resolves'
    resolve([fail('file', `${request.file} is still loading after ${TIMEOUT_MS / 1000} s`, next)])
  }, TIMEOUT_MS)
  child.once('message', ({ findings }: FileCheckResult) => resolve(findings))
  child.once('error', error =>
    resolve([fail('file', `${request.file}: ${error.message}`, 'run millrace doctor again')]),
  )
  child.once('exit', (code, signal) => {
    const next = 'export the app and remove calls of process.exit'
    resolve([fail('file', `${request.file} ended its process (${code ?? signal}) while it was loaded`, next)])
  })
  try {
    return await promise
  } finally {
    clearTimeout(timeout)
    child.kill('SIGKILL')
  }
}

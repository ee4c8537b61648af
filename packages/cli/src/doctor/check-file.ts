import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { FileCheckRequest, FileCheckResult } from './file-child.ts'
import { type Finding, fail } from './finding.ts'

/** The program runs from the sources as well as from what is built of them. */
const END = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
/** How long a file and its store are waited for, in milliseconds. */
const LATE_MS = 30_000
const STDERR = 2

/** Whether a file has an app, and its store works; by a process of its own, so that the file can neither hold this one up nor write where it writes. */
export async function checkFile(request: FileCheckRequest): Promise<readonly Finding[]> {
  const program = fileURLToPath(new URL(`./file-child.${END}`, import.meta.url))
  const child = fork(program, [JSON.stringify(request)], { stdio: ['ignore', STDERR, STDERR, 'ipc'] })
  const { promise, resolve } = Promise.withResolvers<readonly Finding[]>()
  const late = setTimeout(() => {
    const next = 'is something awaited at its top that does not come?'
    resolve([fail('file', `${request.file} still loads after ${LATE_MS / 1000} s`, next)])
  }, LATE_MS)
  child.once('message', ({ findings }: FileCheckResult) => resolve(findings))
  child.once('error', error => resolve([fail('file', `${request.file}: ${error.message}`, 'ask again')]))
  child.once('exit', (code, signal) => {
    const next = 'a file for Millrace exports its app, and does not end its process'
    resolve([fail('file', `${request.file} ended its process (${code ?? signal}) while it was loaded`, next)])
  })
  try {
    return await promise
  } finally {
    clearTimeout(late)
    child.kill('SIGKILL')
  }
}

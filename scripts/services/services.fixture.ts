import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, globSync, mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { onTestFinished } from 'vitest'
import { dataFolder } from './server.ts'

const run = promisify(execFile)

/** Whether a server listens at the url. */
export async function isListening(url: string): Promise<boolean> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

/** Whether the process runs. A zombie does not. */
export async function isRunning(pid: number): Promise<boolean> {
  const { stdout } = await run('ps', ['-o', 'stat=', '-p', `${pid}`]).catch(() => ({ stdout: '' }))
  return stdout.trim() !== '' && !stdout.startsWith('Z')
}

/** A temporary folder for one test, and the files that services have left in it. */
export function emptyFolder(): { path: string; leftFiles(): string[] } {
  const path = mkdtempSync(join(dataFolder(), 'millrace-test-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  // Postgres accesses it as another user.
  chmodSync(path, 0o755)
  return { path, leftFiles: () => globSync(join(path, 'millrace-*')) }
}

/** Runs a script in a child process with `redis` and `postgres` in scope and `path` as its temporary folder. */
export function runScript(text: string, path: string) {
  const names = ['redis', 'postgres']
  const imports = names.map(
    name => `import { ${name} } from ${JSON.stringify(join(import.meta.dirname, `${name}.ts`))}`,
  )
  const holder = spawn(process.execPath, ['--input-type=module', '-e', [...imports, text].join('\n')], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, TMPDIR: path },
  })
  onTestFinished(() => void holder.kill('SIGKILL'))
  return holder
}

// Runs the real `millrace` program as a process, in its own folder.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'
import { compileCache } from '../../../scripts/compile-cache.ts'

export const MAIN = join(import.meta.dirname, 'main.ts')

/** A folder inside this package, so that its files can import the packages by name. Removed after the test. */
export function workFolder(files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(import.meta.dirname, '..', '.example-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true, maxRetries: 5 }))
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  return root
}

/** The result of a command. */
export interface CommandResult {
  /** The exit code, or the signal that ended it. */
  readonly exitStatus: number | NodeJS.Signals
  readonly stdout: string
  readonly stderr: string
}

/** A running command. */
export interface Command {
  readonly pid: number
  readonly ended: Promise<CommandResult>
  /** Waits for output after `mark` that matches, on either stream. Rejects if the command ends before. */
  output(pattern: RegExp, mark?: number): Promise<RegExpExecArray>
  /** The length of its output so far. */
  readonly mark: number
  kill(signal: NodeJS.Signals): void
  write(text: string): void
  closeInput(): void
}

/** Starts `millrace` with arguments. Killed at the end of the test. */
export function millraceCommand(cwd: string, args: readonly string[], env: Record<string, string> = {}): Command {
  const child = spawn(process.execPath, ['--conditions=@millrace/source', MAIN, ...args], {
    cwd,
    env: { ...process.env, ...compileCache, NO_COLOR: '1', FORCE_COLOR: undefined, ...env },
    detached: true,
    stdio: 'pipe',
  })
  const { pid = 0 } = child
  let [stdout, stderr, all] = ['', '', '']
  const listeners = new Set<() => void>()
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
    all += text
    for (const listener of listeners) listener()
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
    all += text
    for (const listener of listeners) listener()
  })
  child.stdin.on('error', () => {})
  let hasEnded = false
  const ended = once(child, 'close').then(([code, signal]): CommandResult => {
    hasEnded = true
    for (const listener of listeners) listener()
    return { exitStatus: code ?? signal, stdout, stderr }
  })
  onTestFinished(async () => {
    try {
      process.kill(-pid, 'SIGKILL')
    } catch {
      // The process has ended already.
    }
    await ended
  })
  return {
    pid,
    ended,
    get mark() {
      return all.length
    },
    output: (pattern, mark = 0) =>
      new Promise((resolve, reject) => {
        const check = () => {
          const found = pattern.exec(all.slice(mark))
          if (found === null && !hasEnded) return
          listeners.delete(check)
          if (found) resolve(found)
          else reject(new Error(`the command exited before it printed ${pattern}:\n${all}`))
        }
        listeners.add(check)
        check()
      }),
    kill: signal => void child.kill(signal),
    write: text => void child.stdin.write(text),
    closeInput: () => void child.stdin.end(),
  }
}

/** Runs `millrace` to its end. */
export async function runToEnd(
  cwd: string,
  args: readonly string[],
  env: Record<string, string> = {},
  input = '',
): Promise<CommandResult> {
  const command = millraceCommand(cwd, args, env)
  command.write(input)
  command.closeInput()
  return command.ended
}

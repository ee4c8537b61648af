// Starts a command of the demo in a temporary folder.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { root } from '../../scripts/command.ts'
import { compileCache } from '../../scripts/compile-cache.ts'

export const BOOTSTRAP = join(root, 'scripts', 'bootstrap.mjs')

/** A started command and its output. */
export interface Started {
  /** Working directory. */
  readonly cwd: string
  /** The address of the demo. Rejects with the output if the command ends before. */
  readonly url: Promise<string>
  /** Exit code or signal, and the output. */
  readonly ended: Promise<{ readonly exitStatus: number | NodeJS.Signals; readonly output: string }>
  /** Signals the started process only. */
  kill(signal: NodeJS.Signals): void
  /** Signals the started process and its children. */
  killAll(signal: NodeJS.Signals): void
}

/** Starts a command in a folder. It is killed at the end of the test, or of the file with `afterAll`. */
export function started(
  cwd: string,
  command: readonly string[],
  env: Record<string, string>,
  atEnd: (end: () => Promise<void>) => void = onTestFinished,
): Started {
  const [program = '', ...args] = command
  const child = spawn(program, args, {
    cwd,
    env: { ...process.env, ...compileCache, ...env },
    detached: true,
    stdio: 'pipe',
  })
  const { pid = 0 } = child
  let output = ''
  const url = Promise.withResolvers<string>()
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
      const [, address] = /^Millrace is running at (\S+)$/m.exec(output) ?? []
      if (address !== undefined) url.resolve(address)
    })
  }
  const ended = once(child, 'close').then(([code, signal]) => {
    url.reject(new Error(`The command ended before it printed its address:\n${output}`))
    return { exitStatus: code ?? signal, output }
  })
  url.promise.catch(() => {})
  const killAll = (signal: NodeJS.Signals) => {
    try {
      process.kill(-pid, signal)
    } catch {
      // No process is left.
    }
  }
  atEnd(async () => {
    killAll('SIGKILL')
    await ended
  })
  return { cwd, url: url.promise, ended, kill: signal => void child.kill(signal), killAll }
}

// The command as people start it, in a folder of its own.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { root } from '../../scripts/command.ts'
import { compileCache } from '../../scripts/compile-cache.ts'

export const BOOTSTRAP = join(root, 'scripts', 'bootstrap.mjs')

/** A command that was started, and what it has said. */
export interface Started {
  /** Where it was started. */
  readonly cwd: string
  /** Where the demo is, once it has said so; rejects with all it said if it ends before. */
  readonly url: Promise<string>
  /** Its exit code or the signal that ended it, and all it said. */
  readonly ended: Promise<{ readonly how: number | NodeJS.Signals; readonly said: string }>
  /** Signals the process that was started, and nothing that it started itself. */
  kill(signal: NodeJS.Signals): void
  /** The same for all that it started too. */
  killAll(signal: NodeJS.Signals): void
}

/** Starts a command in a folder; whatever is left of it ends with the test, or with all tests of a file by `afterAll`. */
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
  let said = ''
  const url = Promise.withResolvers<string>()
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text
      const [, address] = /^Millrace is up at (\S+)$/m.exec(said) ?? []
      if (address !== undefined) url.resolve(address)
    })
  }
  const ended = once(child, 'close').then(([code, signal]) => {
    url.reject(new Error(`it ended before it was up:\n${said}`))
    return { how: code ?? signal, said }
  })
  url.promise.catch(() => {})
  const killAll = (signal: NodeJS.Signals) => {
    try {
      process.kill(-pid, signal)
    } catch {
      // Nobody is left.
    }
  }
  atEnd(async () => {
    killAll('SIGKILL')
    await ended
  })
  return { cwd, url: url.promise, ended, kill: signal => void child.kill(signal), killAll }
}

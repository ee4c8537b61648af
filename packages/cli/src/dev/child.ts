// A child of the supervisor.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { ChildMessage, Start, SupervisorMessage } from './messages.ts'

export type Output = 'stdout' | 'stderr'
export type ChildName = 'server' | 'worker'

/** The extension of the child programs: `ts` in the sources, `js` in the build. */
const END = import.meta.url.endsWith('.ts') ? 'ts' : 'js'

const STDERR = 2

export interface ChildOptions {
  readonly name: ChildName
  readonly start: Start
  /** The destination of its output. */
  readonly output: Output
  onMessage(message: ChildMessage): void
  /** Called when it ends unexpectedly, with its exit code or signal. */
  ended(how: number | NodeJS.Signals): void
}

/** The process of the server or the worker. */
export class Child {
  readonly pid: number
  readonly #process: ChildProcess
  readonly #gone: Promise<unknown>
  #isExpected = false

  constructor({ name, start, output, onMessage, ended }: ChildOptions) {
    const program = fileURLToPath(new URL(`./${name}.${END}`, import.meta.url))
    const stdio = ['ignore', output === 'stdout' ? 'inherit' : STDERR, 'inherit', 'ipc'] as const
    const child = fork(program, [JSON.stringify(start)], { stdio: [...stdio] })
    this.#process = child
    this.pid = child.pid ?? 0
    this.#gone = once(child, 'exit').catch(() => {})
    child.on('message', (message: ChildMessage) => {
      if (!this.#isExpected) onMessage(message)
    })
    child.on('error', () => {})
    child.once('exit', (code, signal) => {
      if (!this.#isExpected) ended(code ?? signal ?? 1)
    })
  }

  send(message: SupervisorMessage): void {
    if (this.#process.connected) this.#process.send(message, () => {})
  }

  /** Stops all callbacks, before it is ended on purpose. */
  forget(): void {
    this.#isExpected = true
  }

  /** Ends it gracefully. Kills it after a timeout. */
  async stop(ms: number): Promise<void> {
    this.forget()
    this.send({ type: 'stop' })
    const timer = setTimeout(() => this.kill(), ms)
    await this.#gone
    clearTimeout(timer)
  }

  /** Kills it with SIGKILL. */
  kill(): void {
    this.#process.kill('SIGKILL')
  }
}

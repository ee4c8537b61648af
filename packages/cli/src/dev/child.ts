import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { ChildMessage, ChildStart, SupervisorMessage } from './messages.ts'

export type Output = 'stdout' | 'stderr'
export type ChildName = 'server' | 'worker'

/** The extension of the child programs: `ts` in the sources, `js` in the build. */
const EXTENSION = import.meta.url.endsWith('.ts') ? 'ts' : 'js'

const STDERR = 2

export interface ChildOptions {
  readonly name: ChildName
  readonly start: ChildStart
  /** The destination of its output. */
  readonly output: Output
  onMessage(message: ChildMessage): void
  /** Called after an unexpected exit, with its exit code or signal. */
  onUnexpectedExit(exitStatus: number | NodeJS.Signals): void
}

/** A child as the supervisor uses it. Tests pass their own. */
export type SupervisedChild = Pick<Child, keyof Child>

/** The process of the server or the worker. */
export class Child {
  readonly pid: number
  readonly #process: ChildProcess
  readonly #exited: Promise<unknown>
  #isExitExpected = false

  constructor({ name, start, output, onMessage, onUnexpectedExit }: ChildOptions) {
    const program = fileURLToPath(new URL(`./${name}.${EXTENSION}`, import.meta.url))
    const stdio = ['ignore', output === 'stdout' ? 'inherit' : STDERR, 'inherit', 'ipc'] as const
    const child = fork(program, [JSON.stringify(start)], { stdio: [...stdio] })
    this.#process = child
    this.pid = child.pid ?? 0
    this.#exited = once(child, 'exit').catch(() => {})
    child.on('message', (message: ChildMessage) => {
      if (!this.#isExitExpected) onMessage(message)
    })
    child.on('error', () => {})
    child.once('exit', (code, signal) => {
      if (!this.#isExitExpected) onUnexpectedExit(code ?? signal ?? 1)
    })
  }

  send(message: SupervisorMessage): void {
    if (this.#process.connected) this.#process.send(message, () => {})
  }

  /** Makes its exit an expected one: neither `onMessage` nor `onUnexpectedExit` is called any more. */
  expectExit(): void {
    this.#isExitExpected = true
  }

  /** Stops it gracefully. Kills it after the timeout, in ms. */
  async stop(timeoutMs: number): Promise<void> {
    this.expectExit()
    this.send({ type: 'stop' })
    const timer = setTimeout(() => this.kill(), timeoutMs)
    await this.#exited
    clearTimeout(timer)
  }

  /** Kills it with SIGKILL. */
  kill(): void {
    this.#process.kill('SIGKILL')
  }
}

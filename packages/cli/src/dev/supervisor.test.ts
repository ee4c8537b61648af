import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { ChildName, ChildOptions } from './child.ts'
import type { ChildMessage } from './messages.ts'
import { Supervisor } from './supervisor.ts'

/** Longer than a child has to be ready before its backoff starts over, in ms. */
const LONG_MS = 15_000

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A supervisor whose children do what the test says, in virtual time. */
class SupervisedChildren {
  readonly #started = new Map<ChildName, ChildOptions>()
  readonly #delays: number[] = []

  constructor() {
    const supervisor = new Supervisor(
      {
        file: 'app.ts',
        port: 0,
        page: 'page',
        reload: false,
        output: 'stdout',
        onEvent: event => event.event === 'ended' && this.#delays.push(event.againMs),
      },
      options => {
        this.#started.set(options.name, options)
        return { pid: 1, send: () => {}, expectExit: () => {}, stop: async () => {}, kill: () => {} }
      },
    )
    void supervisor.start()
  }

  send(name: ChildName, message: ChildMessage): void {
    this.#child(name).onMessage(message)
  }

  /** Ends a child after `ms`, and waits for its restart. Returns the delay of the restart, in ms. */
  exit(name: ChildName, ms: number): number {
    vi.advanceTimersByTime(ms)
    this.#child(name).onUnexpectedExit(1)
    this.#started.delete(name)
    const delayMs = this.#delays.at(-1) ?? Number.NaN
    vi.advanceTimersByTime(delayMs)
    return delayMs
  }

  #child(name: ChildName): ChildOptions {
    const child = this.#started.get(name)
    if (child === undefined) throw new Error(`the ${name} is not running`)
    return child
  }
}

const ready = {
  server: { type: 'listening', port: 1, studioPort: 1 },
  worker: { type: 'driving' },
} as const

/** Children whose server has loaded its file, so that both are started. */
function startedChildren(): SupervisedChildren {
  const children = new SupervisedChildren()
  children.send('server', { type: 'loaded', isSingleProcess: false })
  return children
}

test.each(['server', 'worker'] as const)('backs off from a %s that loads for a long time and exits', name => {
  const children = startedChildren()
  const delays = Array.from({ length: 6 }, () => children.exit(name, LONG_MS))
  expect(delays).toEqual([500, 1_000, 2_000, 4_000, 8_000, 10_000])
})

test.each(['server', 'worker'] as const)('starts the backoff of a %s over after it was ready for 10 s', name => {
  const children = startedChildren()
  /** Loads for a long time, is ready for `ms` and exits. */
  const exitAfterReady = (ms: number) => {
    vi.advanceTimersByTime(LONG_MS)
    children.send(name, ready[name])
    return children.exit(name, ms)
  }
  expect([0, 9_999, 10_000, 9_999, LONG_MS].map(exitAfterReady)).toEqual([500, 1_000, 500, 1_000, 500])
})

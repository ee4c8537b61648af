// A store that counts modifying calls and lets its process die or sleep at one of them.

import { existsSync, rmSync } from 'node:fs'
import { LogError, type LogStore } from '@millrace/log'
import {
  type FaultPoint,
  type Opening,
  POINTS,
  type Point,
  type ProcessMessage,
  wakeFileOf,
} from './process-messages.fixture.ts'

/** How often a sleeping process checks whether to wake, in ms. */
const POLL_MS = 5

const isPoint = (name: string): name is Point => (POINTS as readonly string[]).includes(name)

const blockThread = (ms?: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)

/**
 * Wraps a store. `report` must have sent its message when it returns, because nothing may run after it. Sleeping blocks only
 * the main thread, so that the thread of a file store finishes its call: stopped within a checkpoint, it would keep the
 * write lock and block all other processes.
 */
export function storeWithPoints(
  store: LogStore,
  opening: Pick<Opening, 'faultPoint' | 'ledger' | 'tag'>,
  report: (message: ProcessMessage) => void,
): LogStore {
  const { faultPoint } = opening
  const wakeFile = wakeFileOf(opening)
  let n = 0

  function reachPoint(point: Point, when: FaultPoint['when'], at: number): void {
    if (faultPoint === undefined || at !== faultPoint.n || when !== faultPoint.when) return
    // Set by the message of this point. Otherwise it belongs to another schedule.
    rmSync(wakeFile, { force: true })
    report({ kind: 'reached', point, n: at })
    if (faultPoint.action === 'halt') blockThread()
    if (faultPoint.action !== 'sleep') return
    while (!existsSync(wakeFile)) blockThread(POLL_MS)
    report({ kind: 'awake' })
  }

  async function call(name: string, method: () => unknown): Promise<unknown> {
    try {
      if (!isPoint(name) || !faultPoint?.points.includes(name)) return await method()
      const at = ++n
      reachPoint(name, 'before', at)
      const result = await method()
      reachPoint(name, 'after', at)
      return result
    } catch (error) {
      if (error instanceof LogError && error.code === 'unavailable')
        report({ kind: 'unavailable', call: name, reason: error.message })
      throw error
    }
  }

  return new Proxy(store, {
    get(target, name: keyof LogStore) {
      const value = target[name] as unknown
      if (typeof value !== 'function') return value
      const method = value.bind(target) as (...args: unknown[]) => unknown
      // A watch starts at once.
      return name === 'watch' ? method : (...args: unknown[]) => call(name, () => method(...args))
    },
  })
}

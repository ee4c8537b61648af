import { createContext, Script } from 'node:vm'

const script = new Script('work()')
let sandbox: { work?: () => unknown } | undefined

/**
 * Wall times of the tries, in multiples of the timeout. The work is tried again if it got less than half of the timeout on
 * the CPU, as on a busy machine. Each try gets more time than the one before, so that slow progress is enough.
 */
const TRIES = [1, 2, 4]

/** Longest wall time of a run, in multiples of its timeout. */
export const MAX_WALL_TIMEOUTS = TRIES.reduce((sum, times) => sum + times)

/** Result of a run. `value` is absent if it was aborted. `cpuMs` is its time on the CPU. */
export interface TimedRun<T> {
  readonly value?: T
  readonly cpuMs: number
}

/** Runs synchronous work and aborts it after `timeoutMs`, because a short schema can take unbounded time to check. */
export function runWithTimeout<T>(timeoutMs: number, work: () => T): TimedRun<T> {
  sandbox ??= createContext({})
  const startedAt = cpuMs()
  for (const times of TRIES) {
    const before = cpuMs()
    sandbox.work = work
    try {
      const value: T = script.runInContext(sandbox, { timeout: timeoutMs * times })
      return { value, cpuMs: cpuMs() - startedAt }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error
      if (cpuMs() - before >= timeoutMs / 2) break
    } finally {
      delete sandbox.work
    }
  }
  return { cpuMs: cpuMs() - startedAt }
}

/** Time on the CPU, in ms: of this thread, or, before Node 24, of the process. */
function cpuMs(): number {
  const { user, system } = process.threadCpuUsage?.() ?? process.cpuUsage()
  return (user + system) / 1000
}

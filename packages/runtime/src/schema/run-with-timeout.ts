import { createContext, Script } from 'node:vm'
import { WALL_TIMEOUTS } from './wall-timeouts.ts'

const script = new Script('work()')
let sandbox: { work?: () => unknown } | undefined

/** Result of a run. `value` is absent if it was aborted. `cpuMs` is its time on the CPU. */
export interface TimedRun<T> {
  readonly value?: T
  readonly cpuMs: number
}

/** Runs synchronous work and aborts it after `timeoutMs`, because a short schema can take unbounded time to check. */
export function runWithTimeout<T>(timeoutMs: number, work: () => T): TimedRun<T> {
  sandbox ??= createContext({})
  const startedAt = cpuMs()
  for (const times of WALL_TIMEOUTS) {
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

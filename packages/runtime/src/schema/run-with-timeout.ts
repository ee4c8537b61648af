import { createContext, Script } from 'node:vm'
import { ValidationError } from '../error/error.ts'

const script = new Script('work()')
let sandbox: { work?: () => unknown } | undefined

/** Maximum number of tries of work that got less than half of its time on the CPU. */
const MAX_TRIES = 8

/**
 * Runs synchronous work with a timeout, because a short schema can take unbounded time to check.
 * @param participle completes the message `it cannot be <participle> within <timeoutMs> ms`
 * @throws {ValidationError} if the work takes longer than `timeoutMs` milliseconds.
 */
export function runWithTimeout<T>(timeoutMs: number, participle: string, work: () => T): T {
  sandbox ??= createContext({})
  for (let tries = 1; ; tries++) {
    const before = process.cpuUsage()
    sandbox.work = work
    try {
      return script.runInContext(sandbox, { timeout: timeoutMs })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error
      const { user, system } = process.cpuUsage(before)
      // On a busy machine the timeout may pass before the work has run.
      if (tries < MAX_TRIES && (user + system) / 1000 < timeoutMs / 2) continue
      throw new ValidationError(`it cannot be ${participle} within ${timeoutMs} ms`)
    } finally {
      delete sandbox.work
    }
  }
}

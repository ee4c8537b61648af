import { createContext, Script } from 'node:vm'
import { ValidationError } from '../error/error.ts'

const script = new Script('work()')
let sandbox: { work?: () => unknown } | undefined

/** How often work that hardly got a turn is tried again. */
const MAX_TRIES = 8

/** What comes of some work that does not wait, unless it takes longer than that: a schema of few words can ask for work without end. */
export function runWithTimeout<T>(ms: number, done: string, work: () => T): T {
  sandbox ??= createContext({})
  for (let tries = 1; ; tries++) {
    const before = process.cpuUsage()
    sandbox.work = work
    try {
      return script.runInContext(sandbox, { timeout: ms })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error
      const { user, system } = process.cpuUsage(before)
      // On a busy machine the time may be over before the work had any of it.
      if (tries < MAX_TRIES && (user + system) / 1000 < ms / 2) continue
      throw new ValidationError(`it cannot be ${done} within ${ms} ms`)
    } finally {
      delete sandbox.work
    }
  }
}

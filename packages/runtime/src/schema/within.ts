import { createContext, Script } from 'node:vm'
import { ValidationError } from '../error/error.ts'

const script = new Script('work()')
let room: { work?: () => unknown } | undefined

/** What comes of some work that does not wait, unless it takes longer than that: a schema of few words can ask for work without end. */
export function within<T>(ms: number, done: string, work: () => T): T {
  room ??= createContext({})
  room.work = work
  try {
    return script.runInContext(room, { timeout: ms })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error
    throw new ValidationError(`it cannot be ${done} within ${ms} ms`)
  } finally {
    delete room.work
  }
}

// In which execution of a node code runs: that is how a hook finds its own.

import { AsyncLocalStorage } from 'node:async_hooks'
import { ValidationError } from '../../error/error.ts'
import type { NodeExecution } from './execution.ts'

const storage = new AsyncLocalStorage<NodeExecution | undefined>()

/** Runs code in an execution. */
export const running = <T>(execution: NodeExecution, code: () => T): T => storage.run(execution, code)

/** Whether the code that asks runs in an execution. */
export const isRunning = (execution: NodeExecution): boolean => storage.getStore() === execution

/** The execution that a hook is called in; throws where it is called elsewhere. */
export function executionOf(hook: string): NodeExecution {
  const execution = storage.getStore()
  if (execution) return execution
  throw new ValidationError(`${hook}: expected to be called while a node runs, not in a tool, a step, or after its end`)
}

/** Runs code in which hooks are refused: it may run more often, or elsewhere, than the node that it works for. */
export const withoutHooks = <T>(code: () => T): T => storage.run(undefined, code)

/** What a hook of a node gives. That nobody waits for it is a mistake of the node, which the logger is told; it does not take the process down, and others with it. */
export function heeded<T>(given: Promise<T>): Promise<T> {
  if (storage.getStore()) given.catch(() => {})
  return given
}

import { ValidationError } from '../../error/error.ts'
import { deepCopy } from '../../schema/deep-copy.ts'
import { currentExecution } from '../replay/execution.ts'

/**
 * The context that the server passed to the run, with the fields that `resolveContext` added; `{}` if there is none.
 * Clients never see it, and a resumed run keeps its own.
 * @throws {ValidationError} if the node has ended.
 */
export function useRuntimeContext<Context = unknown>(): Context {
  const { work, at, signal } = currentExecution('useRuntimeContext')
  if (signal.aborted)
    throw new ValidationError(`useRuntimeContext: node ${at.node} has ended: read the context before the node returns`)
  return deepCopy(work.context === undefined ? {} : work.context) as Context
}

import { ValidationError } from '../../error/error.ts'
import { deepCopy } from '../../schema/deep-copy.ts'
import { currentExecution } from '../replay/execution.ts'

/** What the server's own code gave the run, with what `resolveContext` added; no client sees it, and a resumed run keeps its own. */
export function useRuntimeContext<Context = unknown>(): Context {
  const { work, at, signal } = currentExecution('useRuntimeContext')
  if (signal.aborted) throw new ValidationError(`useRuntimeContext: node ${at.node} had ended`)
  return deepCopy(work.context) as Context
}

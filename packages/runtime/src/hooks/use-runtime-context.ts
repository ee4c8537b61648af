import { copyOf } from '../agent/copy.ts'
import { executionOf } from '../workflow/execution.ts'

/** What the server's own code gave the run, with what `resolveContext` added; no client sees it, and a resumed run keeps its own. */
export function useRuntimeContext<Context = unknown>(): Context {
  return copyOf(executionOf('useRuntimeContext').work.context) as Context
}

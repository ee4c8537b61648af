// State of a workflow's run: of one node over its repeats, or of all nodes. What code has read it reads again when it starts again.

import type { Json } from '@millrace/protocol'
import { ValidationError } from '../../error/error.ts'
import { currentExecution, type NodeExecution } from '../replay/execution.ts'
import { checkStateValue } from '../replay/state.ts'

/** Sets a value, as it is or made of what it is by then; `undefined` takes it away. */
export type SetState<T> = (value: T | undefined | ((value: T | undefined) => T | undefined)) => void

/** A value of this node, kept over its repeats in one run; the place among the node's calls tells which. */
export function useNodeState<T>(initial: T): [value: T, set: SetState<T>]
export function useNodeState<T>(): [value: T | undefined, set: SetState<T>]
export function useNodeState<T>(initial?: T): [value: T | undefined, set: SetState<T>] {
  const execution = currentExecution('useNodeState')
  const { node } = execution.at
  const slot = execution.nextSlot('useNodeState')
  return stateHook(execution, 'useNodeState', undefined, `node:${execution.workflowIndex}.${node}:${slot}`, initial)
}

/** A value of the whole run, under a key: other nodes, and workflows that the run goes on with, see it too. */
export function useWorkflowState<T>(key: string, initial: T): [value: T, set: SetState<T>]
export function useWorkflowState<T>(key: string): [value: T | undefined, set: SetState<T>]
export function useWorkflowState<T>(key: string, initial?: T): [value: T | undefined, set: SetState<T>] {
  if (typeof key !== 'string' || key === '' || key.length > 64) {
    throw new ValidationError('useWorkflowState: key: expected text of 1 to 64 characters')
  }
  return stateHook(currentExecution('useWorkflowState'), 'useWorkflowState', key, `workflow:${key}`, initial)
}

function stateHook<T>(
  execution: NodeExecution,
  hook: string,
  id: string | undefined,
  key: string,
  initial: T | undefined,
): [T | undefined, SetState<T>] {
  const first = checkStateValue(key, initial)
  const value = execution.callSync(hook, id, () => {
    const known = execution.readState(key)
    return known === undefined ? first : known
  })
  return [
    value as T | undefined,
    update => {
      // A function is given what a reader would be.
      const made = (before: Json | undefined) =>
        (update as (value: unknown) => unknown)(before === undefined ? structuredClone(first) : before)
      execution.setState(key, typeof update === 'function' ? made : (update as Json | undefined))
    },
  ]
}

// State of a run of a workflow, for one node or for all nodes. On replay, code reads what it had set before its next hook.

import type { Json } from '@millrace/protocol'
import { ValidationError } from '../../error/error.ts'
import { currentExecution, type NodeExecution } from '../replay/execution.ts'
import { checkStateValue } from '../replay/state.ts'

/** Sets a value, or updates the current one by a function. `undefined` removes it. */
export type SetState<T> = (value: T | undefined | ((value: T | undefined) => T | undefined)) => void

/**
 * State of this node, kept when the node repeats in the same run. Identified by the order of calls in the node. In a node
 * that starts again, the value is the one that the node had set before its next hook.
 * @throws {ValidationError} if the initial value is not JSON.
 * @throws {MillraceError} `workflow_state_too_large` or `workflow_changed`.
 */
export function useNodeState<T>(initial: T): [value: T, set: SetState<T>]
export function useNodeState<T>(): [value: T | undefined, set: SetState<T>]
export function useNodeState<T>(initial?: T): [value: T | undefined, set: SetState<T>] {
  const execution = currentExecution('useNodeState')
  const { node } = execution.at
  const slot = execution.nextSlot('useNodeState')
  return stateHook(execution, 'useNodeState', undefined, `node:${execution.workflowIndex}.${node}:${slot}`, initial)
}

/**
 * State of the run, by key. Other nodes and following workflows share it. In a node that starts again, the value is the
 * one that the node had set before its next hook.
 * @throws {ValidationError} if the key is not 1 to 64 characters, or the initial value is not JSON.
 * @throws {MillraceError} `workflow_state_too_large` or `workflow_changed`.
 */
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
  const read = execution.readState(hook, id, key, first)
  const { value = first } = read.record.result
  return [
    // A copy, because the caller may change its value before the commit.
    structuredClone(value) as T | undefined,
    update => {
      // An update function gets the initial value if there is none.
      const nextValue = (before: Json | undefined) =>
        (update as (value: unknown) => unknown)(before === undefined ? structuredClone(first) : before)
      execution.setState(read, typeof update === 'function' ? nextValue : (update as Json | undefined))
    },
  ]
}

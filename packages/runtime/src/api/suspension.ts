// Why a paused run waits.

import { messageIdOf, type Pending, type View } from '@millrace/protocol'
import { MAIN_LANE } from '@millrace/protocol/internal'
import { positionOf } from '../execute/agent-position.ts'
import { checkpointId } from '../execute/program-execution.ts'

/** A waiting sub-agent. */
export interface WaitingChild {
  /** Id of the sub-agent in the run. */
  readonly agentId: string
  /** Name of the sub-agent's definition. */
  readonly agentType: string
  /** The call that started it. */
  readonly toolCallId: string
  /** Its pendings, including those of its own sub-agents. */
  readonly pendings: readonly Pending[]
}

/**
 * Why a run is paused. For an agent: all calls of its step wait for people or clients; or some do, and others are done
 * or wait for sub-agents; or only sub-agents wait. For a workflow: calls of its models, interrupts or sub-agents wait,
 * or several of these, in any node.
 */
export type PauseReason =
  | { readonly kind: 'suspended_client_tool'; readonly toolCallIds: readonly string[] }
  | { readonly kind: 'suspended_step_partial'; readonly toolCallIds: readonly string[]; readonly stepId: string }
  | { readonly kind: 'suspended_awaiting_children'; readonly children: readonly WaitingChild[] }
  | { readonly kind: 'suspended_interrupt'; readonly interruptIds: readonly string[] }
  | {
      readonly kind: 'suspended_mixed'
      readonly toolCallIds: readonly string[]
      readonly interruptIds: readonly string[]
      readonly children: readonly WaitingChild[]
    }

/** The pause reason of a run, from the view. */
export function suspensionOf(view: View, runId: string): PauseReason {
  const mainPendings = view.pendings.filter(pending => agentOf(view, pending) === runId)
  const callIds = mainPendings.flatMap(pending => (pending.kind === 'interrupt' ? [] : pending.part.toolCallId))
  const toolCallIds = [...new Set(callIds)]
  const interruptIds = mainPendings.flatMap(({ kind, id }) => (kind === 'interrupt' ? id : []))
  const isWorkflow = view.runs.find(run => run.runId === runId)?.program?.startsWith('workflow:') === true
  // The steps of a workflow's models are parallel, so there is no last step.
  return (
    (isWorkflow ? undefined : stepReason(view, runId, toolCallIds)) ??
    waitingReason(toolCallIds, interruptIds, view, runId)
  )
}

/** The pause reason of an agent whose calls wait. */
function stepReason({ messages }: View, runId: string, waitingCallIds: readonly string[]): PauseReason | undefined {
  if (waitingCallIds.length === 0) return undefined
  const { calls, open, steps } = positionOf(messages.find(({ id }) => id === messageIdOf(runId, runId)))
  if (waitingCallIds.length === calls.length) return { kind: 'suspended_client_tool', toolCallIds: waitingCallIds }
  const stepId = checkpointId({ runId, lane: MAIN_LANE }, steps, true)
  return { kind: 'suspended_step_partial', toolCallIds: open.map(({ toolCallId }) => toolCallId), stepId }
}

function waitingReason(
  toolCallIds: readonly string[],
  interruptIds: readonly string[],
  view: View,
  runId: string,
): PauseReason {
  const children = childrenOf(view, runId)
  const kinds = [toolCallIds, interruptIds, children].filter(({ length }) => length > 0)
  if (kinds.length > 1) return { kind: 'suspended_mixed', toolCallIds, interruptIds, children }
  if (toolCallIds.length > 0) return { kind: 'suspended_client_tool', toolCallIds }
  if (interruptIds.length > 0) return { kind: 'suspended_interrupt', interruptIds }
  return { kind: 'suspended_awaiting_children', children }
}

function agentOf({ messages }: View, pending: Pending): string | undefined {
  if (pending.kind === 'interrupt') return pending.interrupt.agentId
  return messages.find(({ id }) => id === pending.messageId)?.agentId
}

function childrenOf(view: View, runId: string): readonly WaitingChild[] {
  const agents = view.agents.filter(agent => agent.runId === runId)
  const parents = new Map(agents.map(({ agentId, parentId }) => [agentId, parentId]))
  const isUnder = (agentId: string | undefined, ancestor: string): boolean =>
    agentId !== undefined && (agentId === ancestor || isUnder(parents.get(agentId), ancestor))
  return agents
    .filter(({ parentId }) => parentId === runId)
    .map(({ agentId, agentType, toolCallId }) => {
      const pendings = view.pendings.filter(pending => isUnder(agentOf(view, pending), agentId))
      return { agentId, agentType, toolCallId, pendings }
    })
    .filter(({ pendings }) => pendings.length > 0)
}

// What a paused run waits for, in one word and in full.

import { messageIdOf, type Pending, type View } from '@millrace/protocol'
import { positionOf } from '../execute/agent-position.ts'
import { checkpointId } from '../execute/program-execution.ts'

/** A sub-agent that waits, and what for; what those wait for that work for it counts too. */
export interface WaitingChild {
  readonly agentId: string
  readonly agentType: string
  readonly toolCallId: string
  readonly pendings: readonly Pending[]
}

/**
 * Why a run is paused. Of an agent: all calls of the root agent's step wait for people or clients; some of them do, and others are done or wait for sub-agents; or
 * only sub-agents wait. Of a workflow: calls of its models wait, or questions, or sub-agents; or several of these, in whichever nodes.
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

/** Why a run is paused, told from the view. */
export function suspensionOf(view: View, runId: string): PauseReason {
  const own = view.pendings.filter(pending => agentOf(view, pending) === runId)
  const waiting = own.flatMap(pending => (pending.kind === 'interrupt' ? [] : pending.part.toolCallId))
  const toolCallIds = [...new Set(waiting)]
  const interruptIds = own.flatMap(({ kind, id }) => (kind === 'interrupt' ? id : []))
  const isWorkflow = view.runs.find(run => run.runId === runId)?.program?.startsWith('workflow:') === true
  // The steps of a workflow's models stand side by side in its message: none of them is the last.
  return (isWorkflow ? undefined : stepOf(view, runId, toolCallIds)) ?? oneOf(toolCallIds, interruptIds, view, runId)
}

/** How the step of an agent stands, where calls of it wait. */
function stepOf({ messages }: View, runId: string, waiting: readonly string[]): PauseReason | undefined {
  if (waiting.length === 0) return undefined
  const { calls, open, steps } = positionOf(messages.find(({ id }) => id === messageIdOf(runId, runId)))
  if (waiting.length === calls.length) return { kind: 'suspended_client_tool', toolCallIds: waiting }
  const stepId = checkpointId({ runId, lane: 'main' }, steps, true)
  return { kind: 'suspended_step_partial', toolCallIds: open.map(({ toolCallId }) => toolCallId), stepId }
}

function oneOf(
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

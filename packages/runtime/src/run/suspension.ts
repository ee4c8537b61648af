// What a paused run waits for, in one word and in full.

import { messageIdOf, type Pending, type View } from '@millrace/protocol'
import { positionOf } from '../agent/position.ts'
import { checkpointId } from '../agent/work.ts'

/** A sub-agent that waits, and what for; what those wait for that work for it counts too. */
export interface WaitingChild {
  readonly agentId: string
  readonly agentType: string
  readonly toolCallId: string
  readonly pendings: readonly Pending[]
}

/**
 * Why a run is paused: all calls of the root agent's step wait for people or clients; some of them do, and others are done or wait for sub-agents; only
 * sub-agents wait; or a question does.
 */
export type Suspended =
  | { readonly kind: 'suspended_client_tool'; readonly toolCallIds: readonly string[] }
  | { readonly kind: 'suspended_step_partial'; readonly toolCallIds: readonly string[]; readonly stepId: string }
  | { readonly kind: 'suspended_awaiting_children'; readonly children: readonly WaitingChild[] }
  | { readonly kind: 'suspended_interrupt'; readonly interruptIds: readonly string[] }

/** Why a run is paused, told from the view. */
export function suspensionOf(view: View, runId: string): Suspended {
  const { messages, pendings } = view
  const { calls, open, steps } = positionOf(messages.find(({ id }) => id === messageIdOf(runId, runId)))
  const own = pendings.filter(pending => agentOf(view, pending) === runId)
  const waiting = new Set(own.flatMap(pending => (pending.kind === 'interrupt' ? [] : pending.part.toolCallId)))
  if (waiting.size > 0) {
    if (waiting.size === calls.length) return { kind: 'suspended_client_tool', toolCallIds: [...waiting] }
    const stepId = checkpointId({ runId, lane: 'main' }, steps, true)
    return { kind: 'suspended_step_partial', toolCallIds: open.map(({ toolCallId }) => toolCallId), stepId }
  }
  const interruptIds = own.map(({ id }) => id)
  if (interruptIds.length > 0) return { kind: 'suspended_interrupt', interruptIds }
  return { kind: 'suspended_awaiting_children', children: childrenOf(view, runId) }
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

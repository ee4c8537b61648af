// Determines what a sub-agent waits for without running it. For an agent its message has this information. A workflow
// would have to run, so its last result is remembered.

import { pendingKey } from '@millrace/log/internal'
import type { SubAgent } from '../../define/sub-agent.ts'
import type { Session } from '../../session/session.ts'
import { positionOf } from '../agent-position.ts'
import type { Halt } from '../executor.ts'
import type { AgentExecution } from '../program-execution.ts'
import { callNeedOf } from './call-need.ts'

type WaitingHalt = Extract<Halt, { outcome: 'waiting' }>

/**
 * What workflows waited for when they last ran, by session and agent. A new session object runs them once to find out.
 */
const workflowWaits = new WeakMap<Session, Map<string, WaitingHalt>>()

/** Remembers what the workflow of a call waits for. */
export function noteWorkflowWait(session: Session, agentId: string, halt: WaitingHalt): void {
  const waits = workflowWaits.get(session) ?? new Map<string, WaitingHalt>()
  workflowWaits.set(session, waits.set(agentId, halt))
}

/** The id of the sub-agent of a call. */
export function subAgentId(runId: string, agentType: string, toolCallId: string): string {
  const id = `${agentType}:${toolCallId}`
  // The root agent's id is the run id, which the caller chooses. No agent name starts with `+`.
  return id === runId ? `+${id}` : id
}

/** The pendings of a call's sub-agent and of its own sub-agents; undefined if it can continue or has not started. */
export function subAgentWait(
  work: Pick<AgentExecution, 'session' | 'runId' | 'clock'>,
  sub: SubAgent,
  toolCallId: string,
): WaitingHalt | undefined {
  const { session, runId } = work
  const { program } = sub
  const agentId = subAgentId(runId, program.name, toolCallId)
  if (!session.hasAgent(runId, agentId)) return undefined
  if (program.kind === 'workflow') return workflowWait(work, agentId)
  const { open } = positionOf(session.message(runId, agentId))
  if (open.length === 0) return undefined
  const on: string[] = []
  let until = Number.POSITIVE_INFINITY
  for (const call of open) {
    const need = callNeedOf(call)
    if (need.for === 'answer') {
      const { pending, deadline = Number.POSITIVE_INFINITY } = need
      if (deadline <= work.clock()) return undefined
      on.push(pending)
      until = Math.min(until, deadline)
      continue
    }
    const subAgent = need.for === 'run' ? program.subAgents.find(({ name }) => name === call.toolName) : undefined
    const nestedWait = subAgent && subAgentWait(work, subAgent, call.toolCallId)
    if (nestedWait === undefined) return undefined
    on.push(...nestedWait.on)
    until = Math.min(until, nestedWait.until)
  }
  return { outcome: 'waiting', on, until }
}

/** The pendings of a workflow when it last ran, if all are still open. */
function workflowWait(
  { session, clock }: Pick<AgentExecution, 'session' | 'clock'>,
  agentId: string,
): WaitingHalt | undefined {
  const halt = workflowWaits.get(session)?.get(agentId)
  if (halt === undefined || halt.until <= clock()) return undefined
  const open = new Set(session.view.pendings.map(({ kind, id }) => pendingKey({ kind, id })))
  return halt.on.every(pending => open.has(pending)) ? halt : undefined
}

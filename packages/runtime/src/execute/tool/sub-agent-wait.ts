// What a sub-agent waits for, found without starting it. The parts of its message tell this for an agent. A workflow has to run for it, so its last result is
// remembered.

import { pendingKey } from '@millrace/log/internal'
import type { SubAgent } from '../../define/sub-agent.ts'
import type { Session } from '../../session/session.ts'
import { positionOf } from '../agent-position.ts'
import type { Halt } from '../executor.ts'
import type { AgentExecution } from '../program-execution.ts'

import { needOf } from './need.ts'

type WaitingHalt = Extract<Halt, { outcome: 'waiting' }>

/** What workflows waited for when they were left, by who works in them. Who has the session anew begins them, and is told again. */
const workflowWaits = new WeakMap<Session, Map<string, WaitingHalt>>()

/** Notes what a workflow at work for a call waits for. */
export function noteWorkflowWait(session: Session, agentId: string, halt: WaitingHalt): void {
  const known = workflowWaits.get(session) ?? new Map<string, WaitingHalt>()
  workflowWaits.set(session, known.set(agentId, halt))
}

/** The id of the sub-agent that works for a call of a run. */
export function subAgentId(runId: string, agentType: string, toolCallId: string): string {
  const id = `${agentType}:${toolCallId}`
  // That of a run is the id of its root agent, and anybody may choose it; no name of an agent begins so.
  return id === runId ? `+${id}` : id
}

/** What a sub-agent at work for a call waits for, with all that work for it; undefined where it can go on, or has not begun. */
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
    const need = needOf(call)
    if (need.for === 'answer') {
      const { pending, deadline = Number.POSITIVE_INFINITY } = need
      if (deadline <= work.clock()) return undefined
      on.push(pending)
      until = Math.min(until, deadline)
      continue
    }
    const own = need.for === 'run' ? program.subAgents.find(({ name }) => name === call.toolName) : undefined
    const below = own && subAgentWait(work, own, call.toolCallId)
    if (below === undefined) return undefined
    on.push(...below.on)
    until = Math.min(until, below.until)
  }
  return { outcome: 'waiting', on, until }
}

/** What a workflow waited for when it was left, where all of it is still open. */
function workflowWait(
  { session, clock }: Pick<AgentExecution, 'session' | 'clock'>,
  agentId: string,
): WaitingHalt | undefined {
  const halt = workflowWaits.get(session)?.get(agentId)
  if (halt === undefined || halt.until <= clock()) return undefined
  const open = new Set(session.view.pendings.map(({ kind, id }) => pendingKey({ kind, id })))
  return halt.on.every(pending => open.has(pending)) ? halt : undefined
}

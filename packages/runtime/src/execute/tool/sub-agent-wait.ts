// Where a sub-agent cannot go on: who looks again while it waits begins nothing for that. Of an agent its parts tell; of a workflow only its code does, so what
// it said last is noted.

import { pendingKey } from '@millrace/log'
import type { SubAgent } from '../../define/sub-agent.ts'
import type { Session } from '../../session/session.ts'
import { positionOf } from '../agent-position.ts'
import type { Halt } from '../executor.ts'
import type { Work } from '../program-execution.ts'

import { needOf } from './need.ts'

type Waiting = Extract<Halt, { outcome: 'waiting' }>

/** What workflows waited for when they were left, by who works in them. Who has the session anew begins them, and is told again. */
const left = new WeakMap<Session, Map<string, Waiting>>()

/** Notes what a workflow at work for a call waits for. */
export function noteStandstill(session: Session, agentId: string, halt: Waiting): void {
  const known = left.get(session) ?? new Map<string, Waiting>()
  left.set(session, known.set(agentId, halt))
}

/** The id of the sub-agent that works for a call of a run. */
export function childIdOf(runId: string, agentType: string, toolCallId: string): string {
  const id = `${agentType}:${toolCallId}`
  // That of a run is the id of its root agent, and anybody may choose it; no name of an agent begins so.
  return id === runId ? `+${id}` : id
}

/** What a sub-agent at work for a call waits for, with all that work for it; undefined where it can go on, or has not begun. */
export function standstillOf(
  work: Pick<Work, 'session' | 'runId' | 'clock'>,
  sub: SubAgent,
  toolCallId: string,
): Waiting | undefined {
  const { session, runId } = work
  const { program } = sub
  const agentId = childIdOf(runId, program.name, toolCallId)
  if (!session.hasAgent(runId, agentId)) return undefined
  if (program.kind === 'workflow') return stillOf(work, agentId)
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
    const below = own && standstillOf(work, own, call.toolCallId)
    if (below === undefined) return undefined
    on.push(...below.on)
    until = Math.min(until, below.until)
  }
  return { outcome: 'waiting', on, until }
}

/** What a workflow waited for when it was left, where all of it is still open. */
function stillOf({ session, clock }: Pick<Work, 'session' | 'clock'>, agentId: string): Waiting | undefined {
  const halt = left.get(session)?.get(agentId)
  if (halt === undefined || halt.until <= clock()) return undefined
  const open = new Set(session.view.pendings.map(({ kind, id }) => pendingKey({ kind, id })))
  return halt.on.every(pending => open.has(pending)) ? halt : undefined
}

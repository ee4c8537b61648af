// Where a sub-agent cannot go on, told from its parts alone: who looks again while it waits begins nothing for that.

import { needOf } from '../tool/need.ts'
import { childIdOf } from './delegation.ts'
import type { Halt } from './loop.ts'
import { positionOf } from './position.ts'
import type { SubAgent } from './sub-agent.ts'
import type { Work } from './work.ts'

/** What a sub-agent at work for a call waits for, with all that work for it; undefined where it can go on, or has not begun. */
export function standstillOf(
  work: Pick<Work, 'session' | 'runId' | 'clock'>,
  sub: SubAgent,
  toolCallId: string,
): Extract<Halt, { outcome: 'waiting' }> | undefined {
  const { session, runId } = work
  const agentId = childIdOf(runId, sub.agent.name, toolCallId)
  if (!session.hasAgent(runId, agentId)) return undefined
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
    const own = need.for === 'run' ? sub.agent.subAgents.find(({ name }) => name === call.toolName) : undefined
    const below = own && standstillOf(work, own, call.toolCallId)
    if (below === undefined) return undefined
    on.push(...below.on)
    until = Math.min(until, below.until)
  }
  return { outcome: 'waiting', on, until }
}

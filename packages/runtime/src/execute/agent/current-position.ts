import { type AgentPosition, positionOf } from '../agent-position.ts'
import type { AgentExecution } from '../program-execution.ts'

/** The position of an agent after everything that its run has appended. */
export async function currentPosition(work: AgentExecution): Promise<AgentPosition> {
  await work.session.current()
  return positionOf(work.message())
}

import type { Usage } from '@millrace/protocol'
import { BudgetError } from '../../error/error.ts'
import type { AgentExecution, ProgramExecution } from '../program-execution.ts'

/** Throws where the next step of an agent would go beyond its budget, or beyond that of an agent that it works for. */
export async function checkBudgets(work: AgentExecution, taken: number): Promise<void> {
  const { steps } = work.agent.budget
  if (taken >= steps) {
    throw new BudgetError('budget_steps', `${nameOf(work)} has taken ${taken} steps, and may take ${steps}`)
  }
  for (let own: ProgramExecution | undefined = work; own; own = own.parent) {
    const { tokens } = own.program.budget
    const { inputTokens = 0, outputTokens = 0 } = await usageOf(own)
    const used = inputTokens + outputTokens
    if (used >= tokens) {
      throw new BudgetError('budget_tokens', `${nameOf(own)} has used ${used} tokens, and may use ${tokens}`)
    }
  }
}

function nameOf({ program: { kind, name }, parent }: ProgramExecution): string {
  if (parent === undefined) return 'the run'
  return kind === 'hook' ? name : `${kind} ${name}`
}

/** What an agent has used: the root agent with all that works for it, a sub-agent by itself, and so one that a node of a workflow asks. */
async function usageOf({ parent, session, runId, agentId, program, lane }: ProgramExecution): Promise<Usage> {
  if (parent === undefined) return session.run(runId)?.usage ?? {}
  if (program.budget.tokens === Number.POSITIVE_INFINITY) return {}
  // Whoever works in the message of a workflow is known by its lane alone.
  return parent.agentId === agentId ? session.hookUsage(runId, lane(0).origin) : session.usageOf(runId, agentId)
}

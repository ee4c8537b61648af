// The budgets of an agent and of its callers: checked before each step, and while an answer streams.

import { BudgetError } from '../../error/error.ts'
import type { ModelLimits } from '../../model/model-limits.ts'
import { type Allowance, allowanceOf } from '../../model/part-reader.ts'
import type { RunUsage } from '../../session/run-stats.ts'
import type { AgentExecution, ProgramExecution } from '../program-execution.ts'

/** @throws {BudgetError} if the next step would exceed the budget of the agent or of one of its callers. */
export async function checkBudgets(work: AgentExecution, stepsTaken: number): Promise<void> {
  const { steps } = work.agent.budget
  if (stepsTaken >= steps) {
    throw new BudgetError(
      'budget_steps',
      `${nameOf(work)} has taken ${stepsTaken} steps, the limit is ${steps}: raise budget.steps`,
    )
  }
  for (let execution: ProgramExecution | undefined = work; execution; execution = execution.parent) {
    await remainderOf(execution)
  }
}

/**
 * What the next answer may use by its own limits and by the budgets of the agent and of its callers. Answers that
 * stream at the same time do not see each other’s use.
 * @throws {BudgetError} if a budget is used up.
 */
export async function allowanceFor(work: AgentExecution, limits: ModelLimits): Promise<Allowance> {
  let { bytes, tokens } = allowanceOf(limits)
  for (let execution: ProgramExecution | undefined = work; execution; execution = execution.parent) {
    const remainder = await remainderOf(execution)
    if (remainder.bytes.left < bytes.left) ({ bytes } = remainder)
    if (remainder.tokens.left < tokens.left) ({ tokens } = remainder)
  }
  return { bytes, tokens }
}

/** What an execution may still use. @throws {BudgetError} if its budget is used up. */
async function remainderOf(execution: ProgramExecution): Promise<Allowance> {
  const { bytes, tokens } = execution.program.budget
  const used = await usageOf(execution)
  const usedTokens = used.inputTokens + used.outputTokens
  const name = nameOf(execution)
  if (usedTokens >= tokens) {
    throw new BudgetError(
      'budget_tokens',
      `${name} has used ${usedTokens} tokens, the limit is ${tokens}: raise budget.tokens`,
    )
  }
  const bytesError = () =>
    new BudgetError('budget_bytes', `${name} has streamed more than ${bytes} bytes: raise budget.bytes`)
  if (used.bytes >= bytes) throw bytesError()
  const tokensError = () =>
    new BudgetError(
      'budget_tokens',
      `${name} has used more than ${tokens} tokens, by an estimate of the answer that streamed: raise budget.tokens`,
    )
  return {
    bytes: { left: bytes - used.bytes, error: bytesError },
    tokens: { left: tokens - usedTokens, error: tokensError },
  }
}

function nameOf({ program: { kind, name }, parent }: ProgramExecution): string {
  if (parent === undefined) return 'the run'
  return kind === 'hook' ? name : `${kind} ${name}`
}

const NOTHING: RunUsage = { inputTokens: 0, outputTokens: 0, bytes: 0 }

/** Usage of an agent: the root agent with all its sub-agents, or a sub-agent or a hook's agent alone. */
async function usageOf({ parent, session, runId, agentId, program, lane }: ProgramExecution): Promise<RunUsage> {
  const { tokens, bytes } = program.budget
  if (tokens === Number.POSITIVE_INFINITY && bytes === Number.POSITIVE_INFINITY) return NOTHING
  if (parent === undefined) return session.runUsage(runId)
  // An agent in the message of a workflow is identified by its lane only.
  return parent.agentId === agentId ? session.hookUsage(runId, lane(0).origin) : session.usageOf(runId, agentId)
}

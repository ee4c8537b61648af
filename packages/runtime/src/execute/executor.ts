import type { BatchItem } from '@millrace/log'
import type { FinishReason, Json } from '@millrace/protocol'
import type { Workflow } from '../define/workflow.ts'
import type { AgentExecution, ProgramExecution } from './program-execution.ts'

/**
 * Runs agents and workflows. Tools call agents, agents call tools, and nodes of workflows call agents: the driver hands
 * one executor down, so that none of these folders imports the folder above it.
 */
export interface Executor {
  /** Runs an agent from its current position until it ends or cannot continue here. @throws if it fails. */
  runAgent(work: AgentExecution): Promise<ExecutionResult>
  /**
   * Runs a workflow from its current position until it ends or cannot continue here. `input` is set for a sub-agent
   * call.
   * @throws if it fails.
   */
  runWorkflow(work: ProgramExecution, workflow: Workflow, input?: Json): Promise<ExecutionResult>
}

/** Why an unfinished program does not continue here: another process takes over, or it waits for an answer. */
export type Halt =
  | { readonly outcome: 'handed-over' }
  /** With the pendings that it waits for, as `kind:id`, and the earliest of their deadlines. */
  | { readonly outcome: 'waiting'; readonly on: readonly string[]; readonly until: number }

/** Result of executing a program in this process. */
export type ExecutionResult =
  | {
      readonly outcome: 'done'
      /** Committed chunks of its last step. They are not in the log yet: the caller commits them with the end. */
      readonly finalItems: readonly BatchItem[]
      readonly finishReason: FinishReason
      readonly steps: number
      /** The value of `outputSchema` or of a finishing tool. */
      readonly output?: Json
      /** The text of its last step. */
      readonly text: string
      /** The last line of that text, if it is public and may not have been read yet. */
      readonly line?: string
    }
  | Halt

import type { BatchItem } from '@millrace/log'
import type { FinishReason, Json } from '@millrace/protocol'
import type { Workflow } from '../define/workflow.ts'
import type { AgentExecution, ProgramExecution } from './program-execution.ts'

/**
 * Runs agents and workflows. Tools call agents, agents call tools, and nodes of workflows call agents: the driver hands one executor down, so that none of
 * these folders imports the folder above it.
 */
export interface Executor {
  /** Runs an agent from its current position until it ends or cannot continue here. Throws if it fails. */
  runAgent(work: AgentExecution): Promise<Ended>
  /** Runs a workflow from its current position until it ends or cannot continue here. Throws if it fails. `input` is for one that a sub-agent call started. */
  runWorkflow(work: ProgramExecution, workflow: Workflow, input?: Json): Promise<Ended>
}

/** Why an agent that is not done does not go on here: another process is to, or somebody has to answer first. */
export type Halt =
  | { readonly outcome: 'left' }
  /** With the pendings that it waits for, as `kind:id`, and when the first of their deadlines passes. */
  | { readonly outcome: 'waiting'; readonly on: readonly string[]; readonly until: number }

/** How an agent's work ended here. */
export type Ended =
  | {
      readonly outcome: 'done'
      readonly facts: readonly BatchItem[]
      readonly finishReason: FinishReason
      readonly steps: number
      /** What its `output` or a finishing tool gave. */
      readonly output?: Json
      /** What it said in its last step. */
      readonly text: string
      /** The last line of that, if everybody sees it and it may not be read yet. */
      readonly line?: string
    }
  | Halt

// The environment of a program that runs: its session, writer and lanes, and the signals that end it.

import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import type { BatchItem, Lane, Timers, Writer } from '@millrace/log'
import type { Chunk, FinishReason, Json, Message, Usage } from '@millrace/protocol'
import type { Backoff } from '@millrace/protocol/retry'
import type { Signal } from '../async/signal.ts'
import type { Agent, AgentContext } from '../define/agent.ts'
import { approvalIdOf } from '../define/approval.ts'
import type { Program } from '../define/program.ts'
import type { Callable } from '../define/tool.ts'
import type { Workflow } from '../define/workflow.ts'
import type { ModelAnswer } from '../model/model-answer.ts'
import type { ModelLimits } from '../model/model-limits.ts'
import type { RequestedCall } from '../model/tool-calls.ts'
import { deepCopy } from '../schema/deep-copy.ts'
import type { FormChecks } from '../schema/form-response.ts'
import type { CommitLock } from '../session/commit-lock.ts'
import type { Session } from '../session/session.ts'
import type { AgentTelemetry } from '../telemetry/agent-span.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Executor } from './executor.ts'
import type { AnswerSink } from './output-stream.ts'

/** An execution of an agent or a workflow, for a run or for a call in it, or of a model for a hook. */
export interface ProgramExecution {
  readonly program: Pick<Program, 'name' | 'budget'> & { readonly kind: Program['kind'] | 'hook' }
  readonly session: Session
  readonly writer: Writer
  readonly runId: string
  readonly agentId: string
  /** The execution that called it; undefined for the root program of a run. */
  readonly parent: ProgramExecution | undefined
  /** Aborted when the run stops, its time is over, or another process has taken over. */
  readonly signal: AbortSignal
  /** Aborted when another process is to take over: the next commit is the last one here. */
  readonly handover: AbortSignal
  /** The latest checkpoint on the agent's lane. */
  checkpointId: string | undefined
  readonly context: Json | undefined
  readonly data: Json | undefined
  readonly timers: Timers
  readonly backoff: Backoff
  /** Limits of model answers, unless the agent sets its own. */
  readonly modelLimits: ModelLimits
  /** Checks the schemas of forms for the owner of the session. */
  readonly formChecks: FormChecks
  readonly logger: Logger
  readonly telemetry: AgentTelemetry
  /** Notified when another process changed the ticket: there may be an answer. */
  readonly ticketChanged: Signal
  /** The current time of the store's clock, in ms. */
  clock(): number
  /** Serializes the commits of the run. */
  readonly commitLock: CommitLock
  /** The agent's lane in a step. */
  lane(step: number, model?: string): Lane
  /** Runs the agents and workflows that this one calls. */
  readonly executor: Executor
  /** The workflow with this id, if this process has it. */
  workflowOf(id: string): Workflow | undefined
}

/** An execution of an agent, or of a model that a hook calls like an agent. */
export interface AgentExecution extends ProgramExecution {
  readonly agent: Agent
  /** The messages for the model: the conversation, or the task and the history of a sub-agent. */
  history(): Promise<Message[]>
  /** Its message so far, which determines its position. */
  message(): Message | undefined
  /** Creates the sink for the answer of a step, if the agent has an output. */
  output(step: number): AnswerSink | undefined
  /** Prefix of the ids of its parts, if others write to the same message. */
  readonly prefix?: string
  /** Whether a chunk of the model is internal: part of its history, but not visible to readers. */
  isHidden?(chunk: Chunk): boolean
  /** Response format of the call, if it differs from that of the output. */
  readonly responseFormat?: LanguageModelV4CallOptions['responseFormat']
  /** Called with each completed model call. If it has tool calls, the returned items are added to its commit. */
  onModelCall?(completedCall: CompletedModelCall): readonly BatchItem[]
  /** Called when the commit of a model call with tool calls is in the log. */
  onCommitted?(): void
}

/** A completed model call that is not committed yet. */
export interface CompletedModelCall {
  /** The chunks of its commit, without the checkpoint. */
  readonly committedChunks: readonly Chunk[]
  /** Number of calls whose outcome the model expects. */
  readonly calls: number
  readonly requestedCalls: readonly RequestedCall<Callable>[]
  /** The ids of all calls, including those of the provider and invalid ones. */
  readonly callIds: readonly string[]
  readonly finishReason: FinishReason
  readonly lane: Lane
  /** The agent's output, if this answer is the output. */
  readonly output: Json | undefined
  readonly text: string
  /** The last line of the text; undefined for a JSON document. */
  readonly line: string | undefined
  /** Metadata of the provider's response. */
  readonly response: Pick<ModelAnswer, 'usage' | 'warnings' | 'providerMetadata' | 'raw'> & {
    /** Usage of each attempt that was discarded before. */
    readonly discarded: readonly Usage[]
  }
}

/** The lane of a tool call. */
export function callLane(work: AgentExecution, step: number, toolCallId: string): Lane {
  const { origin, isInternal } = work.lane(step)
  return work.writer.lane({ ...origin, lane: `${origin.lane}/${toolCallId}` }, { isInternal })
}

/** Maximum length of a name in the log, in characters. */
const MAX_NAME_LENGTH = 512

/**
 * Maximum length of a call id on a lane, in characters. The id is part of the lane's name, of which half is left for
 * nested lanes, and of the approval's id.
 */
export const maxCallIdLength = ({ origin: { lane, runId } }: Lane): number =>
  Math.min(Math.floor((MAX_NAME_LENGTH - lane.length) / 2) - 1, MAX_NAME_LENGTH - approvalIdOf(runId, '').length)

/** The context for the agent's own functions. */
export function contextOf(
  { agent, session, runId, agentId, context, data, signal }: AgentExecution,
  step: number,
): AgentContext {
  return {
    sessionId: session.id,
    runId,
    agentId,
    agentType: agent.name,
    step,
    context,
    // A copy, because the code may change it.
    get state() {
      return structuredClone(session.state)
    },
    get data() {
      return deepCopy(data)
    },
    abortSignal: signal,
  }
}

/**
 * The id of a checkpoint. It is the same whenever the same point is reached: the end of a step, or a point within it.
 */
export const checkpointId = (
  { runId, lane }: { runId: string; lane: string },
  step: number,
  closesStep: boolean,
): string => `${runId}/${lane}/${step}${closesStep ? '' : '+'}`

/** The checkpoint that ends a commit. */
export function checkpointOf({ origin }: Lane, closesStep: boolean): Chunk {
  const { step } = origin
  return {
    type: 'checkpoint-created',
    checkpointId: checkpointId(origin, step, closesStep),
    stepCount: step,
    // The execution of a node is one step with any number of model calls.
    closesStep: closesStep && origin.node === undefined,
  }
}

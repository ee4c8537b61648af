// What whoever is at work in a run works with: a writer and lanes, the session, and the signals that tell it to end.

import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import type { BatchItem, Lane, Timers, Writer } from '@millrace/log'
import type { Chunk, FinishReason, Json, Message, Usage } from '@millrace/protocol'
import type { Signal } from '../async/signal.ts'
import type { Agent, AgentContext } from '../define/agent.ts'
import { approvalIdOf } from '../define/approval.ts'
import type { Program } from '../define/program.ts'
import type { Callable } from '../define/tool.ts'
import type { Workflow } from '../define/workflow.ts'
import type { Backoff } from '../model/backoff.ts'
import type { ModelAnswer } from '../model/model-answer.ts'
import type { RequestedCall } from '../model/tool-calls.ts'
import { deepCopy } from '../schema/deep-copy.ts'
import type { Session } from '../session/session.ts'
import type { AgentTelemetry } from '../telemetry/agent-span.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Executor } from './executor.ts'

import type { AnswerSink } from './output-stream.ts'

/** An agent or a workflow at work, of the run or for a call in it, or a model for a hook. */
export interface ProgramExecution {
  readonly program: Pick<Program, 'name' | 'budget'> & { readonly kind: Program['kind'] | 'hook' }
  readonly session: Session
  readonly writer: Writer
  readonly runId: string
  readonly agentId: string
  /** Whose call it works for; none, of the root agent of the run. */
  readonly parent: ProgramExecution | undefined
  /** Aborted when the run is to stop, its time is over, or another process has it. */
  readonly signal: AbortSignal
  /** Aborted when the next commit is to be the last here, because another process is to go on. */
  readonly handover: AbortSignal
  /** The latest checkpoint of the agent's lane, once there is one. */
  checkpointId: string | undefined
  readonly context: Json | undefined
  readonly data: Json | undefined
  readonly timers: Timers
  readonly backoff: Backoff
  readonly logger: Logger
  /** To whom it is told what the agent does. */
  readonly telemetry: AgentTelemetry
  /** Rings when somebody else has moved the ticket: an answer may have come. */
  readonly ticketChanged: Signal
  /** The store's clock now. */
  clock(): number
  /** Commits of the run one at a time, so that each state is made of the one before. */
  turn<T>(commit: () => Promise<T>): Promise<T>
  /** The lane of the agent, in a step. */
  lane(step: number, model?: string): Lane
  /** Runs the agents and workflows that this one calls. */
  readonly executor: Executor
  /** A workflow by its id, if there is one here. */
  workflowOf(id: string): Workflow | undefined
}

/** An agent at work, or a model that a workflow asks: it works as one. */
export interface AgentExecution extends ProgramExecution {
  readonly agent: Agent
  /** What the model is sent: the conversation, or what a sub-agent was told and has said. */
  history(): Promise<Message[]>
  /** What it has said so far: where it stands is told from that. */
  message(): Message | undefined
  /** What makes a document of the answer to a step, if that is asked for. */
  output(step: number): AnswerSink | undefined
  /** What the ids of its parts begin with, where others write into the same message. */
  readonly prefix?: string
  /** Whether a word of the model is for itself alone: it is in its history, and no reader sees it. */
  isHidden?(chunk: Chunk): boolean
  /** The format that the model is asked for, where it is not that of the output. */
  readonly responseFormat?: LanguageModelV4CallOptions['responseFormat']
  /** Hears a model call that came to its end; tells what else its commit says, if calls follow. */
  heard?(spoken: CompletedModelCall): readonly BatchItem[]
  /** Called once the commit of a model call with calls is in the log. */
  kept?(): void
}

/** A model call that came to its end, and is to be committed with these facts. */
export interface CompletedModelCall {
  readonly facts: readonly Chunk[]
  /** How many calls the model is to be told the outcome of, and those of them that have to run for that. */
  readonly calls: number
  readonly made: readonly RequestedCall<Callable>[]
  /** The ids of all calls: also of those that the provider ran, or that could not be made. */
  readonly callIds: readonly string[]
  readonly finishReason: FinishReason
  readonly lane: Lane
  /** The agent's output, where the answer is that. */
  readonly output: Json | undefined
  readonly text: string
  /** The last line of the text; none of what is a document, which is no text to anybody. */
  readonly line: string | undefined
  /** What the provider said of its answer. */
  readonly about: Pick<ModelAnswer, 'usage' | 'warnings' | 'providerMetadata' | 'raw'> & {
    /** What each attempt used that was taken back before it. */
    readonly discarded: readonly Usage[]
  }
}

/** The lane of a call of an agent. */
export function callLane(work: AgentExecution, step: number, toolCallId: string): Lane {
  const { origin, isInternal } = work.lane(step)
  return work.writer.lane({ ...origin, lane: `${origin.lane}/${toolCallId}` }, { isInternal })
}

/** The longest name that a log takes. */
const LONGEST_NAME = 512

/** The longest id of a call on a lane: it is in the name of its own lane, of which those below leave half, and in that of its approval. */
export const longestCallId = ({ origin: { lane, runId } }: Lane): number =>
  Math.min(Math.floor((LONGEST_NAME - lane.length) / 2) - 1, LONGEST_NAME - approvalIdOf(runId, '').length)

/** Where an agent stands, for its own code. */
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
    // Whoever writes into it writes into a copy.
    get state() {
      return structuredClone(session.state)
    },
    get data() {
      return deepCopy(data)
    },
    abortSignal: signal,
  }
}

/** The name of a checkpoint, which is the same whenever that place is come to: the end of a step, or a place within it. */
export const checkpointId = (
  { runId, lane }: { runId: string; lane: string },
  step: number,
  closesStep: boolean,
): string => `${runId}/${lane}/${step}${closesStep ? '' : '+'}`

/** The end of a commit. */
export function checkpointOf({ origin }: Lane, closesStep: boolean): Chunk {
  const { step } = origin
  return {
    type: 'checkpoint-created',
    checkpointId: checkpointId(origin, step, closesStep),
    stepCount: step,
    // The execution of a node is one step, however often a model is called in it.
    closesStep: closesStep && origin.node === undefined,
  }
}

import {
  type ErrorInfo,
  type Json,
  type Message,
  messageIdOf,
  type Pending,
  type RunStatus,
  type Usage,
  type View,
} from '@millrace/protocol'
import { outputStreamId } from '../session/session.ts'
import { runOf } from './request.ts'
import { type PauseReason, suspensionOf } from './suspension.ts'

/** State of a run at its end or pause. */
export interface RunResult<Output = unknown> {
  /** Id of the session. */
  readonly sessionId: string
  /** Id of the run. */
  readonly runId: string
  /** Status with which the run ended, or `paused` if it waits for answers. */
  readonly status: RunStatus | 'paused'
  /**
   * The value of `outputSchema` or of a finishing tool, or the `data` of a workflow's last node. The output of a
   * finishing tool is lost when the log is trimmed; its call in `message` still has it.
   */
  readonly output: Output | undefined
  /** All text of the root agent or of the workflow. */
  readonly text: string
  /** The message of the root agent or of the workflow. */
  readonly message: Message | undefined
  /** Tokens of all model calls, including those of sub-agents and discarded attempts. */
  readonly usage: Usage
  /** The public error of a failed run. */
  readonly error: ErrorInfo | undefined
  /** Why the run was stopped, if the stop has a reason. */
  readonly reason: string | undefined
  /** Why a paused run waits. Absent otherwise. */
  readonly suspended?: PauseReason
  /** The pendings of a paused run, including sub-agents; empty otherwise. */
  readonly pendings: readonly Pending[]
}

/** The result of a run, from the view at its end or pause, and from the output chunk if known. */
export function resultOf<Output>(sessionId: string, view: View, runId: string, outputChunk?: Json): RunResult<Output> {
  const { status, usage, error, reason, program = '' } = runOf(view, runId)
  const message = view.messages.find(({ id }) => id === messageIdOf(runId, runId))
  const text = (message?.parts ?? []).map(part => (part.type === 'text' && 'text' in part ? part.text : '')).join('')
  const storedOutput = program.startsWith('workflow:') ? workflowOutputOf(view, runId) : agentOutputOf(view, runId)
  return {
    sessionId,
    runId,
    status: status as RunStatus | 'paused',
    // Only a completed run has an output.
    output: (status === 'completed' ? (outputChunk ?? storedOutput) : undefined) as Output | undefined,
    text,
    message,
    usage,
    error,
    reason,
    ...(status === 'paused' && { suspended: suspensionOf(view, runId) }),
    pendings: status === 'paused' ? view.pendings : [],
  }
}

/** The structured output of an agent. */
const agentOutputOf = ({ structured }: View, runId: string): Json | undefined =>
  structured.find(({ streamId }) => streamId === outputStreamId(runId))?.data

/** The output of a workflow: the output of the session, if this is its latest run. */
const workflowOutputOf = ({ runs, output }: View, runId: string): Json | undefined =>
  runs.at(-1)?.runId === runId ? output : undefined

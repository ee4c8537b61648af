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

/** How a run stands at its end or pause. */
export interface RunResult<Output = unknown> {
  readonly sessionId: string
  readonly runId: string
  readonly status: RunStatus | 'paused'
  /** What the agent's `output` or a finishing tool gave, or the `data` of a workflow's last node; of a finishing tool's not once the log is trimmed, then its call in `message` has it. */
  readonly output: Output | undefined
  /** All text of the root agent, or of the workflow. */
  readonly text: string
  readonly message: Message | undefined
  readonly usage: Usage
  readonly error: ErrorInfo | undefined
  readonly reason: string | undefined
  /** Why a paused run waits; not there otherwise. */
  readonly suspended?: PauseReason
  /** All that a paused run waits for, its sub-agents too; empty otherwise. */
  readonly pendings: readonly Pending[]
}

/** The result of a run, from the view at its end or pause and the output that it said, as far as that is known. */
export function resultOf<Output>(sessionId: string, view: View, runId: string, said?: Json): RunResult<Output> {
  const { status, usage, error, reason, program = '' } = runOf(view, runId)
  const message = view.messages.find(({ id }) => id === messageIdOf(runId, runId))
  const text = (message?.parts ?? []).map(part => (part.type === 'text' && 'text' in part ? part.text : '')).join('')
  const kept = program.startsWith('workflow:') ? latestOf(view, runId) : outputOf(view, runId)
  return {
    sessionId,
    runId,
    status: status as RunStatus | 'paused',
    // Only a run that was completed has an output.
    output: (status === 'completed' ? (said ?? kept) : undefined) as Output | undefined,
    text,
    message,
    usage,
    error,
    reason,
    ...(status === 'paused' && { suspended: suspensionOf(view, runId) }),
    pendings: status === 'paused' ? view.pendings : [],
  }
}

/** The object that an agent gave as its output. */
const outputOf = ({ structured }: View, runId: string): Json | undefined =>
  structured.find(({ streamId }) => streamId === outputStreamId(runId))?.data

/** The output of the session, which is a run's until another follows it. */
const latestOf = ({ runs, output }: View, runId: string): Json | undefined =>
  runs.at(-1)?.runId === runId ? output : undefined

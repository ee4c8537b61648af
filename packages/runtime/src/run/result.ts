import type { StreamManager } from '@millrace/log'
import type { ErrorInfo, Json, Message, RunStatus, Usage } from '@millrace/protocol'
import { messageIdOf } from '@millrace/protocol'

/** How a run stands at its end or pause. */
export interface RunResult<Output = unknown> {
  readonly sessionId: string
  readonly runId: string
  readonly status: RunStatus | 'paused'
  /** What the agent's `output` or a finishing tool gave. */
  readonly output: Output | undefined
  /** All text of the root agent. */
  readonly text: string
  readonly message: Message | undefined
  readonly usage: Usage
  readonly error: ErrorInfo | undefined
  readonly reason: string | undefined
}

/** The result of a run that stood so at a sequence. */
export async function resultOf<Output>(
  manager: StreamManager,
  sessionId: string,
  runId: string,
  at: number,
): Promise<RunResult<Output> | undefined> {
  const { view } = await manager.view(sessionId, at)
  const run = view.runs.find(other => other.runId === runId)
  if (run === undefined || run.status === 'running') return undefined
  const message = view.messages.find(({ id }) => id === messageIdOf(runId, runId))
  const text = (message?.parts ?? []).map(part => (part.type === 'text' && 'text' in part ? part.text : '')).join('')
  return {
    sessionId,
    runId,
    status: run.status,
    output: outputOf(view.output, run.status) as Output | undefined,
    text,
    message,
    usage: run.usage,
    error: run.error,
    reason: run.reason,
  }
}

/** Only a run that was completed has an output. */
const outputOf = (output: Json | undefined, status: string): Json | undefined =>
  status === 'completed' ? output : undefined

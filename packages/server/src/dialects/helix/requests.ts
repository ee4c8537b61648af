// What requests of Helix's clients amount to here, and how a session stands in its words.

import type { ResumeRequest, SubmitToolResult } from '@millrace/dialects/helix/schemas'
import type { Ticket } from '@millrace/log'
import type { Answer, ErrorCode, ResumeOptions } from '@millrace/runtime'
import { Refusal } from '../../errors/refusal.ts'
import { omitUndefined } from '../../runs/omit-undefined.ts'
import { currentRunId } from '../../runs/target-run.ts'

/** How a session stands: whether its stream goes on, waits, or is over, and how far it goes. */
export function sessionStatus(sessionId: string, { run, last, requests }: Ticket, streamSequence: number) {
  const isOver = run === null && requests.length === 0 && last !== null
  const isFailed = last?.status === 'failed' || last?.status === 'aborted'
  const status = run?.paused ? 'paused' : !isOver ? 'active' : isFailed ? 'failed' : 'ended'
  return {
    sessionId,
    streamId: sessionId,
    status,
    runId: currentRunId({ run, requests, last }) ?? null,
    streamSequence,
  }
}

/** How a run is to go on. */
export function resumeOptionsOf(asked: ResumeRequest): ResumeOptions {
  switch (asked.mode) {
    case 'with_message':
      return { mode: 'with-message', input: asked.message }
    case 'with_confirmation': {
      const { confirmed: approved, reason } = asked
      return { mode: 'with-confirmation', approved, ...(reason !== undefined && { reason }) }
    }
    case 'from_checkpoint':
      return { mode: 'from-checkpoint', checkpointId: asked.checkpointId }
    default:
      return {}
  }
}

/** What became of an answer that was not taken, where that is no error of who gave it. */
export const SUBMIT_STATUSES: Partial<Record<ErrorCode, 'already_completed' | 'late_answer_after_timeout'>> = {
  answer_already_settled: 'already_completed',
  answer_late: 'late_answer_after_timeout',
}

/** The answer that is meant. Each kind answers its own: only that a call was not run at all can be said of one that waits for its approval, which denies it. */
export function answerOf(submitted: SubmitToolResult, { pendings }: Ticket): Answer {
  if (submitted.kind === 'approval-response') {
    const { approvalId: id, toolCallId, approved, reason } = submitted
    if (toolCallId !== undefined && !id.endsWith(`::${toolCallId}`))
      throw new Refusal('request_invalid', 'toolCallId: expected the call of the approval')
    return omitUndefined({ kind: 'approval', id, approved, reason }) as unknown as Answer
  }
  if (submitted.kind === 'interrupt-response')
    return { kind: 'interrupt', id: submitted.interruptId, response: submitted.value }
  const { toolCallId, result, error, errorCode: code } = submitted
  if (error === undefined) return { kind: 'tool-result', id: toolCallId, output: result ?? null }
  const approval = pendings.find(pending => pending.kind === 'approval' && pending.toolCallId === toolCallId)
  if (approval) return { kind: 'approval', id: approval.id, approved: false, reason: error }
  return omitUndefined({ kind: 'tool-result', id: toolCallId, error, code }) as unknown as Answer
}

// Translates requests of Helix clients, and the status of a session into Helix's terms.

import type { ResumeRequest, SubmitToolResult } from '@millrace/dialects/helix/schemas'
import type { Ticket } from '@millrace/log'
import type { Answer, ErrorCode, ResumeOptions } from '@millrace/runtime'
import { HttpError } from '../../errors/http-error.ts'
import { omitUndefined } from '../../runs/omit-undefined.ts'
import { currentRunId } from '../../runs/target-run.ts'

/** Status of a session: whether its stream is active, paused or over, and the last sequence. */
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

/** The runtime options for a resume request. */
export function resumeOptionsOf(request: ResumeRequest): ResumeOptions {
  switch (request.mode) {
    case 'with_message':
      return { mode: 'with-message', input: request.message }
    case 'with_confirmation': {
      const { confirmed: approved, reason } = request
      return { mode: 'with-confirmation', approved, ...(reason !== undefined && { reason }) }
    }
    case 'from_checkpoint':
      return { mode: 'from-checkpoint', checkpointId: request.checkpointId }
    default:
      return {}
  }
}

/** Statuses of answers that came too late, which are not errors for Helix clients. */
export const SUBMIT_STATUSES: Partial<Record<ErrorCode, 'already_completed' | 'late_answer_after_timeout'>> = {
  answer_already_settled: 'already_completed',
  answer_late: 'late_answer_after_timeout',
}

/** The runtime answer for a submitted result. An error for a call that waits for its approval denies the approval. */
export function answerFromToolResult(submitted: SubmitToolResult, { pendings }: Ticket): Answer {
  if (submitted.kind === 'approval-response') {
    const { approvalId: id, toolCallId, approved, reason } = submitted
    if (toolCallId !== undefined && !id.endsWith(`::${toolCallId}`))
      throw new HttpError('request_invalid', 'toolCallId: expected the tool call of the approval')
    return omitUndefined({ kind: 'approval', id, approved, reason }) as unknown as Answer
  }
  if (submitted.kind === 'interrupt-response')
    return { kind: 'interrupt', id: submitted.interruptId, response: submitted.response }
  const { toolCallId, result, error, errorCode: code } = submitted
  if (error === undefined) return { kind: 'tool-result', id: toolCallId, output: result ?? null }
  const approval = pendings.find(pending => pending.kind === 'approval' && pending.toolCallId === toolCallId)
  if (approval) return { kind: 'approval', id: approval.id, approved: false, reason: error }
  return omitUndefined({ kind: 'tool-result', id: toolCallId, error, code }) as unknown as Answer
}

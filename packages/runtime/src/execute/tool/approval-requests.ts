// The approval requests and client calls of a step. They are part of the commit of its model call.

import type { BatchItem, Lane, Ticket, Writer } from '@millrace/log'
import { MAX_PENDINGS } from '@millrace/log/internal'
import type { Chunk } from '@millrace/protocol'
import {
  type Approval,
  type ApprovalDecision,
  approvalDecisionOf,
  approvalIdOf,
  approvalOf,
} from '../../define/approval.ts'
import type { Callable } from '../../define/tool.ts'
import type { ErrorCode } from '../../error/error-codes.ts'
import type { RequestedCall } from '../../model/tool-calls.ts'
import { deepCopy } from '../../schema/deep-copy.ts'
import { validate } from '../../schema/schema.ts'
import { type AgentExecution, callLane, checkpointOf, contextOf } from '../program-execution.ts'
import { fitCalls, type WeighedCall } from './fit-calls.ts'

/** A call with the decision whether it needs approval. */
interface ReviewedCall extends RequestedCall<Callable> {
  readonly verdict: ApprovalDecision
  /** Deadline of the approval, in ms by the store's clock, if a person is asked. */
  readonly deadline: number | undefined
}

/** The error of a call that cannot be requested. */
interface RefusedCall {
  readonly errorText: string
  readonly code: ErrorCode
}

/** The error of a call that exceeds the maximum number of pendings. */
export const TOO_MANY_PENDINGS: RefusedCall = {
  errorText: `more than ${MAX_PENDINGS} calls wait for an answer: make fewer calls at a time`,
  code: 'tool_too_many_pendings',
}
/** The error of a call whose input is too large to be shown. */
export const TOO_LARGE: RefusedCall = {
  errorText: 'the input is too large to be shown: shorten it, or split it into several calls',
  code: 'tool_input_too_large',
}

/**
 * Evaluates the approval rules of all calls of a step. Returns the batch of its model call, or a function of the ticket
 * if a call waits for an answer.
 */
export async function modelCallCommit(
  work: AgentExecution,
  lane: Lane,
  committedChunks: readonly Chunk[],
  calls: readonly RequestedCall<Callable>[],
  extraItems: readonly BatchItem[] = [],
): Promise<readonly BatchItem[] | ((ticket: Ticket) => readonly BatchItem[])> {
  const reviewed = await Promise.all(calls.map(call => reviewCall(work, lane.origin.step, call)))
  const now = work.clock()
  const compose = (refused: ReadonlyMap<string, RefusedCall>) =>
    composeBatch(work, lane, committedChunks, reviewed, refused, now, extraItems)
  if (reviewed.every(call => pendingsOf(call).max === 0)) return compose(new Map())
  // The ticket may change several times, so batches and sizes are cached.
  const builds = new Map<number, readonly BatchItem[]>()
  const weights = new Map<ReviewedCall, number>()
  const build = (open: number): readonly BatchItem[] => {
    const refused = new Map<string, RefusedCall>()
    let room = MAX_PENDINGS - open
    for (const call of reviewed) {
      const { max, remaining } = pendingsOf(call)
      if (max > room) refused.set(call.toolCallId, TOO_MANY_PENDINGS)
      else room -= remaining
    }
    const all = compose(refused)
    if (lane.fits(all)) return all
    const waiting = reviewed.filter(call => pendingsOf(call).max > 0 && !refused.has(call.toolCallId))
    for (const call of waiting) if (!weights.has(call)) weights.set(call, weightOf(work, lane, call))
    const weighed = waiting.map(call => ({ toolCallId: call.toolCallId, weight: weights.get(call) as number }))
    const composeOnly = (selected: readonly WeighedCall[]) => {
      const ids = new Set(selected.map(({ toolCallId }) => toolCallId))
      const tooLarge = waiting.flatMap(({ toolCallId }) =>
        ids.has(toolCallId) ? [] : [[toolCallId, TOO_LARGE] as const],
      )
      return compose(new Map([...refused, ...tooLarge]))
    }
    return composeOnly(
      fitCalls(
        weighed.filter(({ weight }) => Number.isFinite(weight)),
        selected => lane.fits(composeOnly(selected)),
      ),
    )
  }
  return ({ pendings }) => {
    const batch = builds.get(pendings.length) ?? build(pendings.length)
    builds.set(pendings.length, batch)
    return batch
  }
}

/** Approximate size of a call in the batch, in bytes; infinite if it does not fit even alone. */
function weightOf(work: AgentExecution, lane: Lane, call: ReviewedCall): number {
  const hasRequest = call.verdict !== false
  if (hasRequest && !lane.fits([requestOf(work, call)])) return Number.POSITIVE_INFINITY
  const bytes = Buffer.byteLength(JSON.stringify(call.input))
  return bytes * (Number(hasRequest) + Number(call.tool.executor === 'client'))
}

/** Whether a call without an approval request has not been reviewed by this process. */
export const isUnreviewed = (
  work: AgentExecution,
  { tool, toolCallId }: Pick<RequestedCall<Callable>, 'tool' | 'toolCallId'>,
): boolean =>
  approvalOf(tool.approval as Approval) !== undefined && !allowedCallsOf(work).has(approvalIdOf(work.runId, toolCallId))

/**
 * Reviews a call that is already in the log. Returns the approval request and, if the rule decided, the response;
 * undefined if the call may run.
 */
export async function lateApprovalRequest(
  work: AgentExecution,
  step: number,
  call: Omit<RequestedCall<Callable>, 'parsedInput'>,
): Promise<readonly BatchItem[] | undefined> {
  const { tool, input } = call
  const parsed = approvalOf(tool.approval as Approval)?.rule
    ? await validate(tool.inputSchema, deepCopy(input))
    : { value: input }
  // A call with invalid input does not run.
  if ('problem' in parsed) return undefined
  const reviewed = await reviewCall(work, step, { ...call, parsedInput: parsed.value })
  return reviewed.verdict === false ? undefined : approvalRequest(work, step, reviewed)
}

/**
 * The calls that their rules allowed in this process, by writer. The log has no entry for them, so a process with other
 * code reviews the call again before it runs.
 */
const allowedByRule = new WeakMap<Writer, Set<string>>()

function allowedCallsOf({ writer }: AgentExecution): Set<string> {
  const allowedCalls = allowedByRule.get(writer) ?? new Set()
  allowedByRule.set(writer, allowedCalls)
  return allowedCalls
}

async function reviewCall(work: AgentExecution, step: number, call: RequestedCall<Callable>): Promise<ReviewedCall> {
  const { tool, toolCallId, parsedInput } = call
  const approval = approvalOf(tool.approval as Approval)
  if (approval === undefined) return { ...call, verdict: false, deadline: undefined }
  let verdict: ApprovalDecision = true
  try {
    verdict = await approvalDecisionOf(approval.rule, parsedInput, {
      ...contextOf(work, step),
      toolCallId,
      toolName: tool.name,
    })
  } catch (cause) {
    work.signal.throwIfAborted()
    // If the rule fails, a person has to decide.
    work.logger.error('an approval rule failed: a person is asked', { runId: work.runId, toolCallId, cause })
  }
  if (verdict === false) allowedCallsOf(work).add(approvalIdOf(work.runId, toolCallId))
  const { timeoutMs } = approval
  return { ...call, verdict, deadline: timeoutMs === undefined ? undefined : work.clock() + timeoutMs }
}

/** The number of pendings that a call opens, and how many of them stay open. */
function pendingsOf({ tool, verdict }: ReviewedCall): { readonly max: number; readonly remaining: number } {
  const clientPendings = Number(tool.executor === 'client')
  return { max: clientPendings + Number(verdict !== false), remaining: clientPendings + Number(verdict === true) }
}

function composeBatch(
  work: AgentExecution,
  lane: Lane,
  committedChunks: readonly Chunk[],
  reviewed: readonly ReviewedCall[],
  refused: ReadonlyMap<string, RefusedCall>,
  now: number,
  extraItems: readonly BatchItem[],
): readonly BatchItem[] {
  const calls = new Map(reviewed.map(call => [call.toolCallId, call]))
  const batch: BatchItem[] = committedChunks.map(chunk => {
    const call = chunk.type === 'tool-input-available' ? calls.get(chunk.toolCallId) : undefined
    if (call === undefined || chunk.type !== 'tool-input-available') return { chunk, lane }
    const refusal = refused.get(call.toolCallId)
    if (refusal === undefined) return { chunk: { ...chunk, ...clientDeadline(call, now) }, lane }
    const { toolCallId, toolName } = chunk
    return { chunk: { type: 'tool-input-error', toolCallId, toolName, errorText: refusal.errorText }, lane }
  })
  const requests: BatchItem[] = []
  for (const call of reviewed) {
    const { toolCallId, tool, verdict } = call
    const refusal = refused.get(toolCallId)
    if (refusal && tool.executor !== 'client') {
      batch.push({ chunk: { type: 'tool-output-error', toolCallId, ...refusal, executor: 'server' }, lane })
    }
    if (refusal || verdict === false) continue
    requests.push(...approvalRequest(work, lane.origin.step, call))
  }
  const hasOpenCalls = reviewed.length > refused.size
  return [...batch, ...extraItems, { chunk: checkpointOf(lane, !hasOpenCalls), lane }, ...requests]
}

/**
 * An approval request with the decision of its rule, on the lane of the call, which continues as soon as it is
 * answered.
 */
function approvalRequest(work: AgentExecution, step: number, call: ReviewedCall): readonly BatchItem[] {
  const { toolCallId, verdict } = call
  const lane = callLane(work, step, toolCallId)
  const chunks = [
    requestOf(work, call),
    ...(typeof verdict === 'object' ? [responseOf(work, toolCallId, verdict)] : []),
  ]
  return [...chunks, checkpointOf(lane, false)].map(chunk => ({ chunk, lane }))
}

/** Deadline of a client tool's result: its timeout, added to the deadline of its approval. */
function clientDeadline({ tool, verdict, deadline }: ReviewedCall, now: number): { deadline?: number } {
  const { timeoutMs } = tool as { timeoutMs?: number }
  if (timeoutMs === undefined || !Number.isFinite(timeoutMs)) return {}
  // Without a deadline of the approval, the result could be late before it is possible.
  if (verdict === true && deadline === undefined) return {}
  return { deadline: Math.ceil((verdict === true && deadline !== undefined ? deadline : now) + timeoutMs) }
}

function requestOf({ runId }: AgentExecution, { toolCallId, tool, input, verdict, deadline }: ReviewedCall): Chunk {
  return {
    type: 'tool-approval-request',
    toolCallId,
    toolName: tool.name,
    approvalId: approvalIdOf(runId, toolCallId),
    input,
    ...(verdict !== true && { isAutomatic: true }),
    ...(verdict === true && deadline !== undefined && { deadline: Math.ceil(deadline) }),
  }
}

function responseOf(
  { runId }: AgentExecution,
  toolCallId: string,
  { approved, reason }: Exclude<ApprovalDecision, boolean>,
): Chunk {
  return {
    type: 'tool-approval-response',
    toolCallId,
    approvalId: approvalIdOf(runId, toolCallId),
    approved,
    isAutomatic: true,
    ...(reason !== undefined && { reason }),
  }
}

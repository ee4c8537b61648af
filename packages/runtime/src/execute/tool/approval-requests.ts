// What a step asks of people and clients, as its commit says it: who is asked is asked by the same batch that says what for.

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

/** A call, and whether somebody has to approve it. */
interface ReviewedCall extends RequestedCall<Callable> {
  readonly verdict: ApprovalDecision
  /** Until when an answer counts, if somebody is asked. */
  readonly deadline: number | undefined
}

/** Why a call does not come to be asked for. */
interface RefusedCall {
  readonly errorText: string
  readonly code: ErrorCode
}

/** Why a call is refused for which a run would wait for too much. */
export const TOO_MANY: RefusedCall = {
  errorText: `more than ${MAX_PENDINGS} calls wait for somebody: make fewer at a time`,
  code: 'tool_too_many_pendings',
}
/** Why a call is refused whose input cannot be shown. */
export const TOO_LARGE: RefusedCall = {
  errorText: 'the input is larger than can be shown: say less, or in several calls',
  code: 'tool_input_too_large',
}

/** Asks the rules about all calls of a step; gives what the commit of its model call says: on a ticket, where somebody is asked. */
export async function modelCallCommit(
  work: AgentExecution,
  lane: Lane,
  facts: readonly Chunk[],
  made: readonly RequestedCall<Callable>[],
  besides: readonly BatchItem[] = [],
): Promise<readonly BatchItem[] | ((ticket: Ticket) => readonly BatchItem[])> {
  const asked = await Promise.all(made.map(call => reviewCall(work, lane.origin.step, call)))
  const now = work.clock()
  const compose = (refused: ReadonlyMap<string, RefusedCall>) =>
    composed(work, lane, facts, asked, refused, now, besides)
  if (asked.every(call => pendingsOf(call).most === 0)) return compose(new Map())
  // The ticket may move again and again: what is large is measured once.
  const builds = new Map<number, readonly BatchItem[]>()
  const weights = new Map<ReviewedCall, number>()
  const build = (open: number): readonly BatchItem[] => {
    const refused = new Map<string, RefusedCall>()
    let room = MAX_PENDINGS - open
    for (const call of asked) {
      const { most, left } = pendingsOf(call)
      if (most > room) refused.set(call.toolCallId, TOO_MANY)
      else room -= left
    }
    const all = compose(refused)
    if (lane.fits(all)) return all
    const wanted = asked.filter(call => pendingsOf(call).most > 0 && !refused.has(call.toolCallId))
    for (const call of wanted) if (!weights.has(call)) weights.set(call, weightOf(work, lane, call))
    const weighed = wanted.map(call => ({ toolCallId: call.toolCallId, weight: weights.get(call) as number }))
    const without = (taken: readonly WeighedCall[]) => {
      const ids = new Set(taken.map(({ toolCallId }) => toolCallId))
      const left = wanted.flatMap(({ toolCallId }) => (ids.has(toolCallId) ? [] : [[toolCallId, TOO_LARGE] as const]))
      return compose(new Map([...refused, ...left]))
    }
    return without(
      fitCalls(
        weighed.filter(({ weight }) => Number.isFinite(weight)),
        taken => lane.fits(without(taken)),
      ),
    )
  }
  return ({ pendings }) => {
    const said = builds.get(pendings.length) ?? build(pendings.length)
    builds.set(pendings.length, said)
    return said
  }
}

/** About how many bytes a call is shown with; infinitely many where they would not fit even alone. */
function weightOf(work: AgentExecution, lane: Lane, call: ReviewedCall): number {
  const isShown = call.verdict !== false
  if (isShown && !lane.fits([requestOf(work, call)])) return Number.POSITIVE_INFINITY
  const bytes = Buffer.byteLength(JSON.stringify(call.input))
  return bytes * (Number(isShown) + Number(call.tool.executor === 'client'))
}

/** Whether nobody has said of a call without approval, as far as this process knows, that it needs none. */
export const isUnreviewed = (
  work: AgentExecution,
  { tool, toolCallId }: Pick<RequestedCall<Callable>, 'tool' | 'toolCallId'>,
): boolean =>
  approvalOf(tool.approval as Approval) !== undefined && !allowedCallsOf(work).has(approvalIdOf(work.runId, toolCallId))

/** What is said before a call runs that the log holds already: who has to approve it, or that its rule did or did not; nothing where it may run as it is. */
export async function lateApprovalRequest(
  work: AgentExecution,
  step: number,
  call: Omit<RequestedCall<Callable>, 'parsedInput'>,
): Promise<readonly BatchItem[] | undefined> {
  const { tool, input } = call
  const taken = approvalOf(tool.approval as Approval)?.rule
    ? await validate(tool.inputSchema, deepCopy(input))
    : { value: input }
  // What does not fit does not run.
  if ('problem' in taken) return undefined
  const asked = await reviewCall(work, step, { ...call, parsedInput: taken.value })
  return asked.verdict === false ? undefined : approvalRequest(work, step, asked)
}

/**
 * The calls that their rules let pass in this process, by its writers. The log does not tell of those: it holds no word of a call that nobody has to
 * approve, and by whichever code it was made, that which runs it has a say.
 */
const allowedByRule = new WeakMap<Writer, Set<string>>()

function allowedCallsOf({ writer }: AgentExecution): Set<string> {
  const known = allowedByRule.get(writer) ?? new Set()
  allowedByRule.set(writer, known)
  return known
}

async function reviewCall(work: AgentExecution, step: number, call: RequestedCall<Callable>): Promise<ReviewedCall> {
  const { tool, toolCallId, parsedInput: taken } = call
  const approval = approvalOf(tool.approval as Approval)
  if (approval === undefined) return { ...call, verdict: false, deadline: undefined }
  let verdict: ApprovalDecision = true
  try {
    verdict = await approvalDecisionOf(approval.rule, taken, {
      ...contextOf(work, step),
      toolCallId,
      toolName: tool.name,
    })
  } catch (cause) {
    work.signal.throwIfAborted()
    // Who cannot tell must not let it pass.
    work.logger.error('a rule for approval failed: a person is asked', { runId: work.runId, toolCallId, cause })
  }
  if (verdict === false) allowedCallsOf(work).add(approvalIdOf(work.runId, toolCallId))
  const { timeout } = approval
  return { ...call, verdict, deadline: timeout === undefined ? undefined : work.clock() + timeout }
}

/** How many pendings a call opens, and how many of them are left open. */
function pendingsOf({ tool, verdict }: ReviewedCall): { readonly most: number; readonly left: number } {
  const own = Number(tool.executor === 'client')
  return { most: own + Number(verdict !== false), left: own + Number(verdict === true) }
}

function composed(
  work: AgentExecution,
  lane: Lane,
  facts: readonly Chunk[],
  asked: readonly ReviewedCall[],
  refused: ReadonlyMap<string, RefusedCall>,
  now: number,
  besides: readonly BatchItem[],
): readonly BatchItem[] {
  const calls = new Map(asked.map(call => [call.toolCallId, call]))
  const batch: BatchItem[] = facts.map(chunk => {
    const call = chunk.type === 'tool-input-available' ? calls.get(chunk.toolCallId) : undefined
    if (call === undefined || chunk.type !== 'tool-input-available') return { chunk, lane }
    const why = refused.get(call.toolCallId)
    if (why === undefined) return { chunk: { ...chunk, ...clientDeadline(call, now) }, lane }
    const { toolCallId, toolName } = chunk
    return { chunk: { type: 'tool-input-error', toolCallId, toolName, errorText: why.errorText }, lane }
  })
  const tail: BatchItem[] = []
  for (const call of asked) {
    const { toolCallId, tool, verdict } = call
    const why = refused.get(toolCallId)
    if (why && tool.executor !== 'client') {
      batch.push({ chunk: { type: 'tool-output-error', toolCallId, ...why, executor: 'server' }, lane })
    }
    if (why || verdict === false) continue
    tail.push(...approvalRequest(work, lane.origin.step, call))
  }
  const isOpen = asked.length > refused.size
  return [...batch, ...besides, { chunk: checkpointOf(lane, !isOpen), lane }, ...tail]
}

/** A request for approval, with what its rule decided, on the lane of the call: that goes on by itself as soon as it is answered. */
function approvalRequest(work: AgentExecution, step: number, call: ReviewedCall): readonly BatchItem[] {
  const { toolCallId, verdict } = call
  const lane = callLane(work, step, toolCallId)
  const chunks = [
    requestOf(work, call),
    ...(typeof verdict === 'object' ? [responseOf(work, toolCallId, verdict)] : []),
  ]
  return [...chunks, checkpointOf(lane, false)].map(chunk => ({ chunk, lane }))
}

/** Until when the result of a client's tool is waited for: the time that it may take, after the time that its approval may. */
function clientDeadline({ tool, verdict, deadline }: ReviewedCall, now: number): { deadline?: number } {
  const { timeout } = tool as { timeout?: number }
  if (timeout === undefined || !Number.isFinite(timeout)) return {}
  // Without a bound on the approval the result would be late before it could be given.
  if (verdict === true && deadline === undefined) return {}
  return { deadline: Math.ceil((verdict === true && deadline !== undefined ? deadline : now) + timeout) }
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

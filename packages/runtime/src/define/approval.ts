// Decides whether a call needs approval: before the call is logged, so that no driver can run it meanwhile, and again
// by a driver that runs it later. `api/answer.ts` checks and refuses the answers of people.

import type { Json } from '@millrace/protocol'
import { ValidationError } from '../error/error.ts'
import type { AgentContext } from './agent.ts'

/** Result of a rule: `false` needs no approval, `true` asks a person, an object decides without asking. */
export type ApprovalDecision = boolean | { readonly approved: boolean; readonly reason?: string }

/** Second argument of an approval rule. */
export interface ApprovalContext extends AgentContext {
  /** Id of the call. */
  readonly toolCallId: string
  /** Name of the called tool. */
  readonly toolName: string
}

/** Decides for each call whether it needs approval. If it throws, a person is asked. */
export type ApprovalRule<Input = unknown> = (
  input: Input,
  context: ApprovalContext,
) => ApprovalDecision | PromiseLike<ApprovalDecision>

/** Whether calls need approval: all of them, none, or by a rule. */
export type Approval<Input = unknown> =
  | boolean
  | ApprovalRule<Input>
  | {
      /** Decides for each call. @default every call needs approval */
      readonly rule?: ApprovalRule<Input>
      /** Time to wait for an answer, in ms. After it the call counts as denied. @default no limit */
      readonly timeoutMs?: number
    }

/** Maximum timeout of an approval, in ms: one year. */
export const MAX_APPROVAL_TIMEOUT_MS = 366 * 24 * 3_600_000

/** The rule and the timeout of an approval; undefined if no call needs approval. */
export function approvalOf(
  approval: Approval<never> | undefined,
): { readonly rule: ApprovalRule | undefined; readonly timeoutMs: number | undefined } | undefined {
  if (approval === undefined || approval === false) return undefined
  if (approval === true) return { rule: undefined, timeoutMs: undefined }
  if (typeof approval === 'function') return { rule: approval as ApprovalRule, timeoutMs: undefined }
  return { rule: approval.rule as ApprovalRule | undefined, timeoutMs: approval.timeoutMs }
}

/** The id of the request for approval of a call. */
export const approvalIdOf = (runId: string, toolCallId: string): string => `${runId}::${toolCallId}`

/** @throws {ValidationError} if a value is not a valid approval option. */
export function checkApproval(name: string, approval: unknown): void {
  if (approval === undefined || typeof approval === 'boolean' || typeof approval === 'function') return
  const { rule, timeoutMs } = Object(approval) as { rule?: unknown; timeoutMs?: unknown }
  if (typeof approval !== 'object' || approval === null || (rule !== undefined && typeof rule !== 'function')) {
    throw new ValidationError(`tool ${name}: approval: expected a boolean, a rule or { rule, timeoutMs }`)
  }
  if (
    timeoutMs === undefined ||
    (typeof timeoutMs === 'number' && timeoutMs > 0 && timeoutMs <= MAX_APPROVAL_TIMEOUT_MS)
  )
    return
  throw new ValidationError(
    `tool ${name}: approval: timeoutMs: expected milliseconds above 0 and at most ${MAX_APPROVAL_TIMEOUT_MS}`,
  )
}

/** The decision of a rule; `true`, which asks a person, if there is no rule or its result is malformed. */
export async function approvalDecisionOf(
  rule: ApprovalRule | undefined,
  input: unknown,
  context: ApprovalContext,
): Promise<ApprovalDecision> {
  const decision: unknown = rule ? await rule(input as Json, context) : true
  if (typeof decision === 'boolean') return decision
  const { approved, reason } = Object(decision) as { approved?: unknown; reason?: unknown }
  if (typeof approved !== 'boolean') return true
  return { approved, ...(typeof reason === 'string' && { reason }) }
}

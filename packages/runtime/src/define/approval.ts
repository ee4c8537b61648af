// Whether a call waits for a person: asked before the call is in the log, so that nothing can run it meanwhile, and by whoever runs it later.

import type { Json } from '@millrace/protocol'
import { ValidationError } from '../error/error.ts'
import type { AgentContext } from './agent.ts'

/** The result of a rule: `false` needs no approval, `true` asks a person, an object decides without asking. */
export type ApprovalDecision = boolean | { readonly approved: boolean; readonly reason?: string }

/** What a rule is given beside the input of the call. */
export interface ApprovalContext extends AgentContext {
  readonly toolCallId: string
  readonly toolName: string
}

/** Tells for each call whether it needs approval. One that throws leaves it to a person. */
export type ApprovalRule<Input = unknown> = (
  input: Input,
  context: ApprovalContext,
) => ApprovalDecision | PromiseLike<ApprovalDecision>

/** Whether calls need approval: all of them, or as a rule says; and how long an answer is waited for, in milliseconds, before it counts as a denial. */
export type Approval<Input = unknown> =
  | boolean
  | ApprovalRule<Input>
  | { readonly rule?: ApprovalRule<Input>; readonly timeout?: number }

/** Days enough for anybody, and a time that every clock knows. */
export const LONGEST_WAIT = 366 * 24 * 3_600_000

/** The rule of an approval, and how long an answer is waited for; nothing where none is needed. */
export function approvalOf(
  approval: Approval<never> | undefined,
): { readonly rule: ApprovalRule | undefined; readonly timeout: number | undefined } | undefined {
  if (approval === undefined || approval === false) return undefined
  if (approval === true) return { rule: undefined, timeout: undefined }
  if (typeof approval === 'function') return { rule: approval as ApprovalRule, timeout: undefined }
  return { rule: approval.rule as ApprovalRule | undefined, timeout: approval.timeout }
}

/** The id of the request for approval of a call. */
export const approvalIdOf = (runId: string, toolCallId: string): string => `${runId}::${toolCallId}`

/** Throws where something is no approval. */
export function checkApproval(name: string, approval: unknown): void {
  if (approval === undefined || typeof approval === 'boolean' || typeof approval === 'function') return
  const { rule, timeout } = Object(approval) as { rule?: unknown; timeout?: unknown }
  if (typeof approval !== 'object' || approval === null || (rule !== undefined && typeof rule !== 'function')) {
    throw new ValidationError(`tool ${name}: approval: expected a boolean, a rule or { rule, timeout }`)
  }
  if (timeout === undefined || (typeof timeout === 'number' && timeout > 0 && timeout <= LONGEST_WAIT)) return
  throw new ValidationError(`tool ${name}: approval: timeout: expected milliseconds from above 0 to ${LONGEST_WAIT}`)
}

/** What a rule says of a call; `true` where it says nothing that can be understood. */
export async function approvalDecisionOf(
  rule: ApprovalRule | undefined,
  input: unknown,
  context: ApprovalContext,
): Promise<ApprovalDecision> {
  const verdict = rule ? ((await rule(input as Json, context)) as unknown) : true
  if (typeof verdict === 'boolean') return verdict
  const { approved, reason } = Object(verdict) as { approved?: unknown; reason?: unknown }
  if (typeof approved !== 'boolean') return true
  return { approved, ...(typeof reason === 'string' && { reason }) }
}

import type { Approval, ApprovalContext, ApprovalDecision, ApprovalRule } from '../define/approval.ts'
import type { McpToolInfo } from './list-tools.ts'

/** Context of an approval rule, with the server's description of the tool. */
export interface McpApprovalContext extends ApprovalContext {
  /** The server's description of the called tool. */
  readonly tool: McpToolInfo
}

/** Decides whether a call of a server's tool needs approval. If it throws, the call needs approval. */
export type McpApprovalRule = (
  input: unknown,
  context: McpApprovalContext,
) => ApprovalDecision | PromiseLike<ApprovalDecision>

/** Approval of calls of a server's tools, as for other tools, with one rule for all of them. */
export type McpApproval =
  | boolean
  | McpApprovalRule
  | {
      /** Decides for each call. @default every call needs approval */
      readonly rule?: McpApprovalRule
      /** Time to wait for an answer, in ms. After it the call counts as denied. @default no limit */
      readonly timeoutMs?: number
    }

/** The approval of one tool. */
export function approvalFor(tool: McpToolInfo, approval: McpApproval): Approval {
  const withTool =
    (rule: McpApprovalRule): ApprovalRule =>
    (input, context) =>
      rule(input, { ...context, tool })
  if (typeof approval === 'function') return withTool(approval)
  if (typeof approval !== 'object' || typeof approval?.rule !== 'function') return approval as Approval
  return { ...approval, rule: withTool(approval.rule) }
}

import type { Approval, ApprovalContext, ApprovalRule, Verdict } from '../define/approval.ts'
import type { McpToolInfo } from './list-tools.ts'

/** What a rule is given beside the input of the call: also what the server says of the tool. */
export interface McpApprovalContext extends ApprovalContext {
  readonly tool: McpToolInfo
}

/** Tells for each call of a server's tools whether it needs approval. One that throws leaves it to a person. */
export type McpApprovalRule = (input: unknown, context: McpApprovalContext) => Verdict | PromiseLike<Verdict>

/** Whether calls of a server's tools need approval: as of a tool of one's own, by one rule for all. */
export type McpApproval = boolean | McpApprovalRule | { readonly rule?: McpApprovalRule; readonly timeout?: number }

/** What of it holds for one tool. */
export function approvalFor(tool: McpToolInfo, approval: McpApproval): Approval {
  const about =
    (rule: McpApprovalRule): ApprovalRule =>
    (input, context) =>
      rule(input, { ...context, tool })
  if (typeof approval === 'function') return about(approval)
  if (typeof approval !== 'object' || typeof approval?.rule !== 'function') return approval as Approval
  return { ...approval, rule: about(approval.rule) }
}

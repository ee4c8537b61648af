// What an open call needs next, by its part alone.

import type { ToolPart } from '@millrace/protocol'

/** It waits for an answer, can run, or has to be settled as denied. */
export type CallNeed =
  | {
      readonly for: 'answer'
      readonly pending: string
      readonly kind: 'approval' | 'client-tool'
      readonly deadline?: number
    }
  | { readonly for: 'run' }
  | { readonly for: 'denial' }

/** The next need of a call without an outcome. */
export function callNeedOf({ state, approval, executor, toolCallId, deadline }: ToolPart): CallNeed {
  if (state === 'approval-requested' && approval) {
    return waitForAnswer('approval', approval.id, approval.deadline)
  }
  if (state === 'approval-responded' && !approval?.approved) return { for: 'denial' }
  return executor === 'client' ? waitForAnswer('client-tool', toolCallId, deadline) : { for: 'run' }
}

const waitForAnswer = (kind: 'approval' | 'client-tool', id: string, deadline: number | undefined): CallNeed => ({
  for: 'answer',
  pending: `${kind}:${id}`,
  kind,
  ...(deadline !== undefined && { deadline }),
})

// What an open call needs before it has an outcome, told from its part alone.

import type { ToolPart } from '@millrace/protocol'

/** Somebody has to answer; or the call can run, or has to be settled as denied. */
export type Need =
  | {
      readonly for: 'answer'
      readonly pending: string
      readonly kind: 'approval' | 'client-tool'
      readonly deadline?: number
    }
  | { readonly for: 'run' }
  | { readonly for: 'denial' }

/** What a call without an outcome needs next. */
export function needOf({ state, approval, executor, toolCallId, deadline }: ToolPart): Need {
  if (state === 'approval-requested' && approval) {
    return wait('approval', approval.id, approval.deadline)
  }
  if (state === 'approval-responded' && !approval?.approved) return { for: 'denial' }
  return executor === 'client' ? wait('client-tool', toolCallId, deadline) : { for: 'run' }
}

const wait = (kind: 'approval' | 'client-tool', id: string, deadline: number | undefined): Need => ({
  for: 'answer',
  pending: `${kind}:${id}`,
  kind,
  ...(deadline !== undefined && { deadline }),
})

import type { EndStatus } from './dialect.ts'

/** How a run stands after an event, in the words that the AI SDK and MUI X Chat share. What was said before of how it ends goes first, but for an error. */
export function statusAfter(
  status: EndStatus | undefined,
  { type, finishReason }: { readonly type: string; readonly finishReason?: unknown },
  isWaiting: boolean,
): EndStatus | undefined {
  switch (type) {
    case 'start':
      return undefined
    case 'finish':
      return status ?? finishedBy(finishReason, isWaiting)
    case 'abort':
      return status ?? 'interrupted'
    case 'error':
      return 'failed'
    default:
      return status
  }
}

function finishedBy(reason: unknown, isWaiting: boolean): EndStatus {
  if (reason === 'error') return 'failed'
  if (isWaiting) return 'paused'
  return reason === 'interrupted' ? 'interrupted' : 'completed'
}

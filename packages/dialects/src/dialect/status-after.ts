import type { EndStatus } from './dialect.ts'

/** The status of a run after an event of the AI SDK or of MUI X Chat, which share these event types. An earlier status wins, and a failure stays (law 7). */
export function statusAfter(
  status: EndStatus | undefined,
  { type, finishReason }: { readonly type: string; readonly finishReason?: unknown },
  isWaiting: boolean,
): EndStatus | undefined {
  switch (type) {
    case 'start':
      return status === 'failed' ? status : undefined
    case 'finish':
      return status ?? statusOfFinish(finishReason, isWaiting)
    case 'abort':
      return status ?? 'interrupted'
    default:
      return status
  }
}

function statusOfFinish(reason: unknown, isWaiting: boolean): EndStatus {
  if (reason === 'error') return 'failed'
  if (isWaiting) return 'paused'
  return reason === 'interrupted' ? 'interrupted' : 'completed'
}

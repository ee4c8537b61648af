import type { Progress } from '@modelcontextprotocol/client'
import { truncateText } from './mcp-error.ts'

/** Progress of a call, as the server reports it. */
export interface McpProgress {
  /** Progress so far, in the unit of the server. */
  readonly progress: number
  /** Value of `progress` at the end, if the server knows it. */
  readonly total?: number
  /** The server's message about the progress, for people. */
  readonly message?: string
}

/** Minimum interval between progress outputs, in ms. Only the latest update within an interval is sent. */
export const PROGRESS_INTERVAL_MS = 100

/** Runs a call and yields its progress: the first update at once, later ones throttled, the last one always. */
export async function* withProgress<T>(
  start: (onProgress: (progress: Progress) => void) => Promise<T>,
): AsyncGenerator<McpProgress, T, void> {
  let latest: McpProgress | undefined
  let isDone = false
  let wake = () => {}
  const onProgress = (progress: Progress) => {
    latest = toProgress(progress)
    wake()
  }
  const running = start(onProgress).finally(() => {
    isDone = true
    wake()
  })
  // It is awaited at the end. This prevents an unhandled rejection until then.
  running.catch(() => {})
  let nextAt = 0
  for (;;) {
    if (isDone) break
    const delayMs = latest === undefined ? Number.POSITIVE_INFINITY : nextAt - performance.now()
    if (delayMs > 0) {
      await new Promise<void>(resolve => {
        const timer = Number.isFinite(delayMs) ? setTimeout(resolve, delayMs) : undefined
        wake = () => {
          // While an update waits for the interval, a newer one replaces it.
          if (timer !== undefined && !isDone) return
          clearTimeout(timer)
          resolve()
        }
      })
      continue
    }
    const update = latest as McpProgress
    latest = undefined
    nextAt = performance.now() + PROGRESS_INTERVAL_MS
    yield update
  }
  const value = await running
  if (latest !== undefined) yield latest
  return value
}

const toProgress = ({ progress, total, message }: Progress): McpProgress => ({
  progress,
  ...(total !== undefined && { total }),
  ...(message !== undefined && { message: truncateText(message) }),
})

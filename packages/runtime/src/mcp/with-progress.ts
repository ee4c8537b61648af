import type { Progress } from '@modelcontextprotocol/client'
import { shortened } from './mcp-error.ts'

/** How far a call has got, as its server tells it. */
export interface McpProgress {
  readonly progress: number
  readonly total?: number
  readonly message?: string
}

/** Progress is shown no more often than this, in milliseconds; of what comes in between, the latest. */
export const PROGRESS_INTERVAL_MS = 100

/** Runs a call and yields its progress: the first at once, the rest now and then, the last surely. */
export async function* withProgress<T>(
  start: (tell: (progress: Progress) => void) => Promise<T>,
): AsyncGenerator<McpProgress, T, void> {
  let latest: McpProgress | undefined
  let isDone = false
  let wake = () => {}
  const tell = (progress: Progress) => {
    latest = toProgress(progress)
    wake()
  }
  const running = start(tell).finally(() => {
    isDone = true
    wake()
  })
  // It is awaited at the end; until then nobody minds that it has failed.
  running.catch(() => {})
  let next = 0
  for (;;) {
    if (isDone) break
    const rest = latest === undefined ? Number.POSITIVE_INFINITY : next - performance.now()
    if (rest > 0) {
      await new Promise<void>(resolve => {
        const timer = Number.isFinite(rest) ? setTimeout(resolve, rest) : undefined
        wake = () => {
          // What is told while another is held back only takes its place.
          if (timer !== undefined && !isDone) return
          clearTimeout(timer)
          resolve()
        }
      })
      continue
    }
    const shown = latest as McpProgress
    latest = undefined
    next = performance.now() + PROGRESS_INTERVAL_MS
    yield shown
  }
  const value = await running
  if (latest !== undefined) yield latest
  return value
}

const toProgress = ({ progress, total, message }: Progress): McpProgress => ({
  progress,
  ...(total !== undefined && { total }),
  ...(message !== undefined && { message: shortened(message) }),
})

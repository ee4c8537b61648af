import type { StreamManager } from '@millrace/log'
import type { Chunk } from '@millrace/protocol'
import type { Claim } from './posted-answers.ts'
import type { Shown } from './transcript.ts'

/** How many entries of the log are looked at in one go. */
const WINDOW = 2000

/** From where on a run is news to who says how it was answered, and has seen it up to there: the first of those answers after the last pause that any of them ended. */
export async function newsAfter(
  manager: StreamManager,
  { runs, head }: Shown,
  sessionId: string,
  runId: string,
  settled: readonly Claim[],
): Promise<number> {
  const ids = new Set(settled.map(({ of }) => of))
  const { floor = 0 } = (await manager.getInfo(sessionId)) ?? {}
  const start = runs.find(run => run.runId === runId)?.at ?? head
  let pause = 0
  let found: { readonly sequence: number; readonly pause: number } | undefined
  for (let at = Math.max(start - 1, floor); at < head; at += WINDOW) {
    for (const { sequence, chunk, origin } of await manager.entries(sessionId, at, Math.min(at + WINDOW, head))) {
      if (chunk.type === 'run-paused') pause = sequence
      if (!ids.has(answeredBy(chunk) ?? '') || found?.pause === pause) continue
      if (origin.guest !== undefined || isLate(chunk)) found = { sequence, pause }
    }
  }
  return found?.sequence ?? head
}

/** Whether a chunk of the run's own may say that nobody answered in time. */
const isLate = (chunk: Chunk): boolean =>
  chunk.type === 'interrupt-response' || (chunk.type === 'tool-approval-response' && !chunk.approved)

/** The call or question that an entry answers. */
function answeredBy(chunk: Chunk): string | undefined {
  switch (chunk.type) {
    case 'tool-approval-response':
    case 'tool-output-available':
    case 'tool-output-error':
      return chunk.toolCallId
    case 'interrupt-response':
      return chunk.interruptId
    default:
      return undefined
  }
}

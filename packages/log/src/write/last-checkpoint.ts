// The last checkpoint on the main lane of a run: where the run resumes after a pause.

import { type Chunk, isGuest, type Origin, type WriterOrigin } from '@millrace/protocol'
import type { Checkpoint } from '../ticket/ticket.ts'

/** The last checkpoint on a lane of a run among some entries. */
export function lastCheckpoint(
  entries: readonly { readonly chunk: Chunk; readonly origin: Origin }[],
  { runId, lane, agentId }: Pick<WriterOrigin, 'runId' | 'lane' | 'agentId'>,
): Checkpoint | undefined {
  for (let i = entries.length - 1; i >= 0; i--) {
    const { chunk, origin } = entries[i] as (typeof entries)[number]
    if (chunk.type !== 'checkpoint-created' || isGuest(origin)) continue
    if (origin.runId !== runId || origin.lane !== lane || origin.agentId !== agentId) continue
    const { checkpointId, stepCount } = chunk
    return { checkpointId, ...(stepCount !== undefined && { stepCount }) }
  }
  return undefined
}

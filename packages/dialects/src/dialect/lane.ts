import type { Origin } from '@millrace/protocol'
import type { LaneId } from '@millrace/protocol/internal'

const UNNAMED: LaneId = { runId: '', lane: '', agentId: '' }

/** The lane of a chunk. Chunks of guests and chunks without an origin share one. */
export const laneOf = (origin: Origin | undefined): LaneId =>
  (origin?.guest === undefined ? origin : undefined) ?? UNNAMED

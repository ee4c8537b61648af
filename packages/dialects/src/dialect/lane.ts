import type { LaneId, Origin } from '@millrace/protocol'

const UNNAMED: LaneId = { runId: '', lane: '', agentId: '' }

/** The lane of a chunk. Chunks of guests and chunks without an origin share one. */
export const laneOf = (origin: Origin | undefined): LaneId =>
  (origin?.guest === undefined ? origin : undefined) ?? UNNAMED

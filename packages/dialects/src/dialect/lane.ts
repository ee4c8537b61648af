import type { Origin } from '@millrace/protocol'
import type { LaneId } from '@millrace/protocol/internal'

const UNNAMED: LaneId = { runId: '', lane: '', agentId: '' }

/** The lane of a chunk. Chunks of guests and chunks without an origin share one. */
export const laneOf = (origin: Origin | undefined): LaneId =>
  (origin?.guest === undefined ? origin : undefined) ?? UNNAMED

/** The id of the sub-agent that wrote a chunk. Undefined for the run's own agent and for guests. */
export const subAgentIdOf = (origin: Origin | undefined): string | undefined =>
  origin && origin.guest === undefined && origin.agentId !== origin.runId ? origin.agentId : undefined

/** Whether a sub-agent wrote a chunk, so that the chunk is no part of the run's own message. */
export const isOfSubAgent = (origin: Origin | undefined): boolean => subAgentIdOf(origin) !== undefined

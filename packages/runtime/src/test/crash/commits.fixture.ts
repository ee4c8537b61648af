// Reads the calls of a log: where each was requested, where its outcome is, where its run ended. Also reports
// violations that no crash may cause.

import { type Entry, isDraftChunk, isGuest, type WriterOrigin } from '@millrace/protocol'
import { keyOf } from '../../session/key.ts'
import { SESSION } from './tools-program.fixture.ts'

export interface Commits {
  /** Sequence of the outcome of a call, by its key, for tools and models. */
  readonly outcomes: ReadonlyMap<string, number>
  /** Requested tool calls: the sequence of the commit, and the run. */
  readonly requests: ReadonlyMap<string, { readonly at: number; readonly runId: string }>
  /** Calls of server tools and models that have an outcome, without client tools, sub-agents and denied calls. */
  readonly calledIds: ReadonlySet<string>
  /** Sequence of a run's end. */
  readonly ends: ReadonlyMap<string, number>
  /** Violations in the log. */
  readonly problems: readonly string[]
}

/** The state of a lane while reading. */
interface LaneState {
  draftChunks: number
  /** Whether it has only requests, or also work. */
  isStart: boolean
  readonly calls: string[]
}

/** Reads a log to its end. */
export function commitsOf(entries: readonly Entry[]): Commits {
  const outcomes = new Map<string, number>()
  const requests = new Map<string, { at: number; runId: string }>()
  const calledIds = new Set<string>()
  /** The lane of each sub-agent, and the calls of sub-agents. */
  const agents = new Map<string, string>()
  const delegated = new Set<string>()
  const starts = new Map<string, number>()
  const ends = new Map<string, number>()
  const problems: string[] = []
  const checkpoints = new Set<string>()
  const stops = new Set<string>()
  const lanes = new Map<string, LaneState>()
  const settle = (key: string, sequence: number, isExecuted: boolean) => {
    if (outcomes.has(key)) problems.push(`entry ${sequence}: ${key} has an outcome at ${outcomes.get(key)}`)
    else outcomes.set(key, sequence)
    if (isExecuted && !delegated.has(key)) calledIds.add(key)
  }
  for (const { sequence, origin, chunk } of entries) {
    const addProblem = (problem: string) => problems.push(`entry ${sequence}, ${chunk.type}: ${problem}`)
    if (isGuest(origin)) {
      if (chunk.type === 'stop-requested') stops.add(chunk.runId)
      if (chunk.type === 'tool-output-available' || chunk.type === 'tool-output-error') {
        settle(keyOf(SESSION, origin.runId ?? '', chunk.toolCallId), sequence, false)
      }
      continue
    }
    const { runId, agentId } = origin
    const lane = laneOf(lanes, origin)
    if (ends.has(runId)) addProblem(`run ${runId} has ended at ${ends.get(runId)}`)
    if (isDraftChunk(chunk)) lane.draftChunks++
    switch (chunk.type) {
      case 'run-started':
        if (starts.has(runId)) addProblem(`run ${runId} started at ${starts.get(runId)}`)
        starts.set(runId, sequence)
        break
      case 'run-finished':
        ends.set(runId, sequence)
        break
      case 'rewind':
        addProblem('it was not requested')
        break
      case 'tool-input-available':
        lane.calls.push(keyOf(SESSION, runId, chunk.toolCallId))
        break
      case 'tool-output-available':
        if (!chunk.preliminary) settle(keyOf(SESSION, runId, chunk.toolCallId), sequence, true)
        break
      case 'tool-output-error':
        settle(keyOf(SESSION, runId, chunk.toolCallId), sequence, chunk.executor !== 'client')
        break
      case 'tool-output-denied':
        settle(keyOf(SESSION, runId, chunk.toolCallId), sequence, false)
        break
      case 'subagent-start':
        if (agents.has(chunk.agentId)) addProblem(`${chunk.agentId} was started before`)
        agents.set(chunk.agentId, chunk.lane ?? '')
        delegated.add(keyOf(SESSION, runId, chunk.toolCallId))
        lane.isStart = true
        break
      case 'tool-approval-request':
        lane.isStart = true
        break
      case 'step-discarded':
        if (lane.draftChunks === 0) addProblem(`lane ${origin.lane} has no draft to discard`)
        if (stops.has(runId)) addProblem('it discards content after a stop was requested')
        lanes.delete(nameOf(origin))
        break
      case 'checkpoint-created': {
        // A commit before the lane starts is not an outcome, and its checkpoint id is used again.
        const checkpointKey = `${agentId} ${chunk.checkpointId}`
        if (checkpoints.has(checkpointKey)) addProblem(`${chunk.checkpointId} was committed before`)
        if (!lane.isStart) checkpoints.add(checkpointKey)
        for (const id of lane.calls) requests.set(id, { at: sequence, runId })
        const { stepCount = 0 } = chunk
        const key = keyOf(SESSION, runId, agentId, stepCount)
        // The first commit of a step is that of its model call. A later one closes it.
        const laneName = agentId === runId ? 'main' : agents.get(agentId)
        if (origin.lane === laneName && stepCount !== 0 && !outcomes.has(key)) settle(key, sequence, true)
        lanes.delete(nameOf(origin))
        break
      }
      default:
    }
  }
  for (const runId of starts.keys()) if (!ends.has(runId)) problems.push(`run ${runId} has no end`)
  return { outcomes, requests, calledIds, ends, problems }
}

const nameOf = ({ runId, lane }: WriterOrigin): string => `${runId} ${lane}`

function laneOf(lanes: Map<string, LaneState>, origin: WriterOrigin): LaneState {
  const name = nameOf(origin)
  const lane = lanes.get(name) ?? { draftChunks: 0, isStart: false, calls: [] }
  lanes.set(name, lane)
  return lane
}

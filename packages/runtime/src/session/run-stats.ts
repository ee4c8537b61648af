// Statistics of a run that the view does not contain: its latest checkpoints, the usage of each agent, and the time it
// was paused.

import type { Checkpoint } from '@millrace/log'
import { type Chunk, type Entry, isGuest, type Usage, type WriterOrigin } from '@millrace/protocol'
import { keyOf } from './key.ts'
import { SubAgentTimes } from './sub-agent-times.ts'

/** The place of a hook. Each execution of a node is a step. */
export type HookOrigin = Pick<WriterOrigin, 'agentId' | 'lane' | 'step'>

const hookKey = ({ agentId, lane, step }: HookOrigin): string => keyOf(agentId, lane, step)

export class RunStats {
  readonly runId: string
  /** The latest checkpoint of a step, by lane and agent. */
  readonly #checkpoints = new Map<string, Required<Checkpoint>>()
  /** Usage by agent. */
  readonly usage = new Map<string, Usage>()
  /** Usage and start time of the agents and models that hooks run, by agent, lane and execution. */
  readonly #hooks = new Map<string, { readonly startedAt: number; usage: Usage }>()
  /** The pauses of the run. */
  readonly #pauses: { readonly from: number; to: number }[] = []
  /** The active time of its sub-agents. */
  readonly subAgentTimes = new SubAgentTimes()

  constructor(runId: string) {
    this.runId = runId
  }

  /** Adds the next entries of the log. */
  add(entries: readonly Entry[]): void {
    for (const entry of entries) {
      const { chunk, origin, timestamp } = entry
      // The answer of a guest may not name the run.
      if (isGuest(origin) || origin.runId === this.runId) this.subAgentTimes.add(entry)
      if (origin.runId !== this.runId || isGuest(origin)) continue
      if (origin.node !== undefined) this.#addToHook(origin, chunk, timestamp)
      switch (chunk.type) {
        case 'checkpoint-created': {
          const { checkpointId, stepCount = 0 } = chunk
          if (stepCount > 0) this.#checkpoints.set(keyOf(origin.lane, origin.agentId), { checkpointId, stepCount })
          break
        }
        case 'step-finish':
          this.usage.set(origin.agentId, sum(this.usage.get(origin.agentId), chunk.usage))
          break
        case 'run-paused':
          this.#pauses.push({ from: timestamp, to: Number.POSITIVE_INFINITY })
          break
        case 'run-resumed': {
          const last = this.#pauses.at(-1)
          if (last) last.to = Math.min(last.to, timestamp)
        }
      }
    }
  }

  lastCheckpoint(lane: string, agentId: string): Required<Checkpoint> | undefined {
    return this.#checkpoints.get(keyOf(lane, agentId))
  }

  /** Usage on the lane of a hook in one execution of its node. */
  hookUsage(origin: HookOrigin): Usage {
    return this.#hooks.get(hookKey(origin))?.usage ?? {}
  }

  /** Active time of a hook until now, in ms, without pauses of the run. */
  hookActiveTime(origin: HookOrigin, now: number): number {
    const { startedAt = now } = this.#hooks.get(hookKey(origin)) ?? {}
    return Math.max(0, now - startedAt - this.pausedBetween(startedAt, now))
  }

  #addToHook(origin: HookOrigin, chunk: Chunk, timestamp: number): void {
    const key = hookKey(origin)
    const hook = this.#hooks.get(key) ?? { startedAt: timestamp, usage: {} }
    if (chunk.type === 'step-finish') hook.usage = sum(hook.usage, chunk.usage)
    this.#hooks.set(key, hook)
  }

  /** How long the run was paused between two times, in ms. */
  pausedBetween(since: number, until: number): number {
    return this.#pauses.reduce((all, { from, to }) => all + Math.max(0, Math.min(to, until) - Math.max(from, since)), 0)
  }
}

const sum = ({ inputTokens = 0, outputTokens = 0 }: Usage = {}, more: Usage = {}): Usage => ({
  inputTokens: inputTokens + (more.inputTokens ?? 0),
  outputTokens: outputTokens + (more.outputTokens ?? 0),
})

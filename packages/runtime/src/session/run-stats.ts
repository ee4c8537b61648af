// What the entries of a run tell and no view holds: its latest checkpoints, the usage of each agent, and the time that it waited.

import { type Chunk, type Entry, isGuest, type Usage, type WriterOrigin } from '@millrace/protocol'
import { keyOf } from './key.ts'
import { SubAgentTimes } from './sub-agent-times.ts'

/** Where a hook works: an execution is a step of its own. */
export type HookOrigin = Pick<WriterOrigin, 'agentId' | 'lane' | 'step'>

const hookKey = ({ agentId, lane, step }: HookOrigin): string => keyOf(agentId, lane, step)

export class RunStats {
  readonly runId: string
  /** The latest checkpoint of a step, by lane and agent. */
  readonly #checkpoints = new Map<string, string>()
  /** What was used, by agent. */
  readonly usage = new Map<string, Usage>()
  /** What was used by those that hooks of nodes let work, and when they began: by agent, lane and execution. */
  readonly #hooks = new Map<string, { readonly began: number; usage: Usage }>()
  /** When it paused, and when it went on. */
  readonly #pauses: { readonly from: number; to: number }[] = []
  /** The working time of its sub-agents. */
  readonly subAgentTimes = new SubAgentTimes()

  constructor(runId: string) {
    this.runId = runId
  }

  /** Goes on with the next entries of the log. */
  add(entries: readonly Entry[]): void {
    for (const entry of entries) {
      const { chunk, origin, timestamp } = entry
      // Who answers says what, not always in which run.
      if (isGuest(origin) || origin.runId === this.runId) this.subAgentTimes.add(entry)
      if (origin.runId !== this.runId || isGuest(origin)) continue
      if (origin.node !== undefined) this.#addToHook(origin, chunk, timestamp)
      switch (chunk.type) {
        case 'checkpoint-created':
          if ((chunk.stepCount ?? 0) > 0) {
            this.#checkpoints.set(keyOf(origin.lane, origin.agentId), chunk.checkpointId)
          }
          break
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

  lastCheckpoint(lane: string, agentId: string): string | undefined {
    return this.#checkpoints.get(keyOf(lane, agentId))
  }

  /** What was used on the lane of a hook, in one execution of its node. */
  usageOn(origin: HookOrigin): Usage {
    return this.#hooks.get(hookKey(origin))?.usage ?? {}
  }

  /** For how long a hook has been at work until now: not while the run waited. */
  timeOn(origin: HookOrigin, now: number): number {
    const { began = now } = this.#hooks.get(hookKey(origin)) ?? {}
    return Math.max(0, now - began - this.pausedSince(began, now))
  }

  #addToHook(origin: HookOrigin, chunk: Chunk, timestamp: number): void {
    const key = hookKey(origin)
    const known = this.#hooks.get(key) ?? { began: timestamp, usage: {} }
    if (chunk.type === 'step-finish') known.usage = sum(known.usage, chunk.usage)
    this.#hooks.set(key, known)
  }

  /** For how long it waited from one time to another. */
  pausedSince(since: number, until: number): number {
    return this.#pauses.reduce((all, { from, to }) => all + Math.max(0, Math.min(to, until) - Math.max(from, since)), 0)
  }
}

const sum = ({ inputTokens = 0, outputTokens = 0 }: Usage = {}, more: Usage = {}): Usage => ({
  inputTokens: inputTokens + (more.inputTokens ?? 0),
  outputTokens: outputTokens + (more.outputTokens ?? 0),
})

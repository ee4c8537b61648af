// What only the entries of a run tell, and no view: where its lanes are, what each agent used, and for how long it waited.

import { type Entry, isGuest, type Usage } from '@millrace/protocol'
import { keyOf } from '../agent/key.ts'
import { Waits } from './waits.ts'

export class Trail {
  readonly runId: string
  /** The latest checkpoint of a step, by lane and agent. */
  readonly #checkpoints = new Map<string, string>()
  /** What was used, by agent. */
  readonly usage = new Map<string, Usage>()
  /** When it paused, and when it went on. */
  readonly #pauses: { readonly from: number; to: number }[] = []
  /** For how long its sub-agents waited. */
  readonly waits = new Waits()

  constructor(runId: string) {
    this.runId = runId
  }

  /** Goes on with the next entries of the log. */
  add(entries: readonly Entry[]): void {
    for (const entry of entries) {
      const { chunk, origin, timestamp } = entry
      // Who answers says what, not always in which run.
      if (isGuest(origin) || origin.runId === this.runId) this.waits.add(entry)
      if (origin.runId !== this.runId || isGuest(origin)) continue
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

  /** For how long it waited from one time to another. */
  pausedSince(since: number, until: number): number {
    return this.#pauses.reduce((all, { from, to }) => all + Math.max(0, Math.min(to, until) - Math.max(from, since)), 0)
  }
}

const sum = ({ inputTokens = 0, outputTokens = 0 }: Usage = {}, more: Usage = {}): Usage => ({
  inputTokens: inputTokens + (more.inputTokens ?? 0),
  outputTokens: outputTokens + (more.outputTokens ?? 0),
})

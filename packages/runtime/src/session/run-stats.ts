// Statistics of a run that the view does not contain: its latest checkpoints, the usage of each agent, and the time it
// was paused.

import type { Checkpoint } from '@millrace/log'
import { type Entry, isGuest, type Usage, type WriterOrigin } from '@millrace/protocol'
import { PROVIDER_CONTENT } from '../model/model-answer.ts'
import { jsonSizeAtLeast } from '../schema/json-size.ts'
import { keyOf } from './key.ts'
import { SubAgentTimes } from './sub-agent-times.ts'

/** What models have used. */
export interface RunUsage {
  /** Input tokens, as reported by providers. */
  readonly inputTokens: number
  /** Output tokens, as reported by providers, or estimated for an answer that was cut off. */
  readonly outputTokens: number
  /** Size of the content of answers in the log, in bytes. */
  readonly bytes: number
}

const NOTHING: RunUsage = { inputTokens: 0, outputTokens: 0, bytes: 0 }

/** The place of a hook. Each execution of a node is a step. */
export type HookOrigin = Pick<WriterOrigin, 'agentId' | 'lane' | 'step'>

const hookKey = ({ agentId, lane, step }: HookOrigin): string => keyOf(agentId, lane, step)

export class RunStats {
  readonly runId: string
  /** The latest checkpoint of a step, by lane and agent. */
  readonly #checkpoints = new Map<string, Required<Checkpoint>>()
  /** Usage by agent. */
  readonly #usage = new Map<string, RunUsage>()
  /** Size of the content of all answers, in bytes. */
  bytes = 0
  /** Usage and start time of the agents and models that hooks run, by agent, lane and execution. */
  readonly #hooks = new Map<string, { readonly startedAt: number; usage: RunUsage }>()
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
      const used = usageIn(entry)
      if (origin.node !== undefined) this.#addToHook(origin, used, timestamp)
      if (used !== NOTHING) {
        this.bytes += used.bytes
        this.#usage.set(origin.agentId, sum(this.usageOf(origin.agentId), used))
      }
      switch (chunk.type) {
        case 'checkpoint-created': {
          const { checkpointId, stepCount = 0 } = chunk
          if (stepCount > 0) this.#checkpoints.set(keyOf(origin.lane, origin.agentId), { checkpointId, stepCount })
          break
        }
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

  /** Usage of an agent. */
  usageOf(agentId: string): RunUsage {
    return this.#usage.get(agentId) ?? NOTHING
  }

  /** Usage on the lane of a hook in one execution of its node. */
  hookUsage(origin: HookOrigin): RunUsage {
    return this.#hooks.get(hookKey(origin))?.usage ?? NOTHING
  }

  /** Active time of a hook until now, in ms, without pauses of the run. */
  hookActiveTime(origin: HookOrigin, now: number): number {
    const { startedAt = now } = this.#hooks.get(hookKey(origin)) ?? {}
    return Math.max(0, now - startedAt - this.pausedBetween(startedAt, now))
  }

  #addToHook(origin: HookOrigin, used: RunUsage, timestamp: number): void {
    const key = hookKey(origin)
    const hook = this.#hooks.get(key) ?? { startedAt: timestamp, usage: NOTHING }
    if (used !== NOTHING) hook.usage = sum(hook.usage, used)
    this.#hooks.set(key, hook)
  }

  /** How long the run was paused between two times, in ms. */
  pausedBetween(since: number, until: number): number {
    return this.#pauses.reduce((all, { from, to }) => all + Math.max(0, Math.min(to, until) - Math.max(from, since)), 0)
  }
}

/** Types of chunks with content of answers, besides deltas and outputs of provider tools. */
const CONTENT_TYPES: ReadonlySet<string> = new Set([
  'file',
  'source-url',
  'source-document',
  'structured-data',
  'tool-input-available',
  'tool-input-error',
  PROVIDER_CONTENT,
])

function usageIn({ chunk, blobs }: Entry): RunUsage {
  if (chunk.type === 'step-finish') return { ...tokensOf(chunk.usage), bytes: 0 }
  const { type } = chunk
  if ('delta' in chunk && typeof chunk.delta === 'string') return { ...NOTHING, bytes: Buffer.byteLength(chunk.delta) }
  const isProviderOutput = type.startsWith('tool-output-') && 'executor' in chunk && chunk.executor === 'provider'
  if (!isProviderOutput && !CONTENT_TYPES.has(type)) return NOTHING
  // Large values are not in the chunk.
  const blobBytes = Object.values(blobs ?? {}).reduce((all, { bytes }) => all + bytes, 0)
  return { ...NOTHING, bytes: jsonSizeAtLeast(chunk, Number.POSITIVE_INFINITY) + blobBytes }
}

const tokensOf = ({ inputTokens = 0, outputTokens = 0 }: Usage = {}) => ({ inputTokens, outputTokens })

const sum = (one: RunUsage, other: RunUsage): RunUsage => ({
  inputTokens: one.inputTokens + other.inputTokens,
  outputTokens: one.outputTokens + other.outputTokens,
  bytes: one.bytes + other.bytes,
})

import type { BatchItem, Lane } from '@millrace/log'
import type { Json } from '@millrace/protocol'
import type { AgentTelemetry } from '../../telemetry/agent-span.ts'
import type { NodeExecution } from './execution.ts'
import type { HookResult } from './record.ts'

/** A hook at work. */
export interface HookCall {
  readonly hookId: string
  readonly execution: NodeExecution
  /** The hook's own line of work: what waits there waits for itself alone. */
  readonly lane: Lane
  readonly signal: AbortSignal
  /** To whom it is told what works for the hook. */
  readonly telemetry: AgentTelemetry
  /** What the log holds of it, if it was begun before. */
  readonly begun: HookResult | undefined
  /** Commits what the node was given, changed and showed so far, if it did: what the hook commits by itself comes after that. */
  keep(): Promise<void>
  /** Commits what belongs to the hook while it is not done. */
  commit(said: readonly BatchItem[], given: HookResult): Promise<void>
  /** Waits until somebody may have answered, or the time is over: as long as nobody has, the node can do without this process. */
  park(on: readonly string[], until: number): Promise<void>
  /** Waits for ever: another process is to go on. */
  leave(): Promise<never>
  /** Writes on the hook's lane until it is done or told to stop: nothing is taken back before that. */
  write<T>(work: Promise<T>): Promise<T>
}

/** What comes of a hook, and what its commit says beside. */
export interface Came {
  readonly value: Json | undefined
  readonly said?: readonly BatchItem[]
}

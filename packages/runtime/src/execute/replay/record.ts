// What the log remembers of a workflow beside its entries for people: what hooks gave, what state was set, where the workflow stands. No reader sees it.

import type { BatchItem, Lane } from '@millrace/log'
import type { Hook, Json } from '@millrace/protocol'

/** What a hook gave, or why it gave nothing. */
export interface HookResult {
  readonly value?: Json
  readonly error?: {
    readonly code: string
    readonly message: string
    /** How often the execution had failed by then. */
    readonly failures: number
    /** What code may decide by beside. */
    readonly class?: string
    readonly retryable?: boolean
    readonly statusCode?: number
    readonly retryAfterMs?: number
  }
  /** The questions that it asked, while they are not answered. */
  readonly asked?: readonly string[]
  /** How often the execution had failed when it asked the last of them. */
  readonly askedAfter?: number
  /** Whether others of its node were under way when it was done: then these may have begun before it. */
  readonly beside?: true
  /** Its place among the answers of its execution. */
  readonly place?: number
  /** How many emissions of its execution are in the log with it, by what they are about: those that no commit before has counted. */
  readonly shown?: { readonly [about: string]: number }
}

export interface HookRecord {
  readonly hookId: string
  readonly hook: string
  readonly given: HookResult
  /** How many emissions of its execution are in the log with it. */
  readonly emissions?: number
}

/** The entry that keeps a record. */
export function recordOf({ hookId, hook, given, emissions }: HookRecord, lane: Lane): BatchItem {
  const result = given as unknown as Json
  return {
    chunk: { type: 'hook-completed', hookId, hook, result, ...(emissions !== undefined && { emissions }) },
    lane,
    internal: true,
  }
}

/** A record as it was kept. */
export const recordIn = ({ hookId, hook, result, emissions }: Omit<Hook, 'runId'>): HookRecord => ({
  hookId,
  hook,
  given: (result ?? {}) as HookResult,
  ...(emissions !== undefined && { emissions }),
})

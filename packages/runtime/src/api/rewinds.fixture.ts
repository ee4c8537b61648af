// Finds discards and rewinds by the entries of a log alone.

import { type Entry, foldLog, isDraftChunk, isGuest, type WriterOrigin } from '@millrace/protocol'

/** The fields of `stream_resync` in the Helix pages. */
export interface Resync {
  readonly checkpointId: string | undefined
  readonly stepCount: number
  readonly messageCount: number
  readonly fromSequence: number
  readonly reason: 'crash_recovery' | 'rollback' | 'branch' | 'retry'
}

const REASONS: Readonly<Record<string, Resync['reason']>> = {
  superseded: 'crash_recovery',
  'from-checkpoint': 'rollback',
  edit: 'branch',
  retry: 'retry',
}

const laneKeyOf = ({ runId, agentId, lane }: WriterOrigin): string => JSON.stringify([runId, agentId, lane])

/** A discard or rewind: the last sequence that stays visible, and the number of removed entries or messages. */
interface Removal {
  readonly entry: Entry
  readonly lastVisible: number
  readonly removedCount: number
}

/** The discards and rewinds of a log. */
export function removalsIn(log: readonly Entry[]): Removal[] {
  const drafts = new Map<string, Entry[]>()
  const removals: Removal[] = []
  for (const entry of log) {
    const { chunk, origin, sequence } = entry
    if (chunk.type === 'rewind') {
      const { toSequence } = chunk
      const before = foldLog(log.filter(other => other.sequence < sequence)).view()
      const after = foldLog(log.filter(other => other.sequence <= toSequence)).view()
      const removed = before.messages.filter(({ id, parts }) => {
        const remaining = after.messages.find(other => other.id === id)
        return remaining === undefined || remaining.parts.length < parts.length
      })
      removals.push({ entry, lastVisible: toSequence, removedCount: removed.length })
      continue
    }
    if (isGuest(origin)) continue
    const draftEntries = drafts.get(laneKeyOf(origin)) ?? []
    if (isDraftChunk(chunk)) drafts.set(laneKeyOf(origin), [...draftEntries, entry])
    if (chunk.type === 'checkpoint-created') drafts.delete(laneKeyOf(origin))
    if (chunk.type === 'run-finished') drafts.clear()
    if (chunk.type !== 'step-discarded') continue
    drafts.delete(laneKeyOf(origin))
    removals.push({
      entry,
      lastVisible: (draftEntries[0]?.sequence ?? sequence) - 1,
      removedCount: draftEntries.length,
    })
  }
  return removals
}

/** The `stream_resync` of each. */
export function resyncsOf(log: readonly Entry[]): Resync[] {
  return removalsIn(log).map(({ entry, lastVisible }) => {
    const { reason } = entry.chunk as { reason: string }
    const checkpoint = log.findLast(
      ({ chunk, origin, sequence }) =>
        sequence <= lastVisible && chunk.type === 'checkpoint-created' && !isGuest(origin) && origin.lane === 'main',
    )
    const checkpointChunk = checkpoint?.chunk as { checkpointId: string; stepCount?: number } | undefined
    return {
      checkpointId: checkpointChunk?.checkpointId,
      stepCount: checkpointChunk?.stepCount ?? 0,
      messageCount: foldLog(log.filter(({ sequence }) => sequence <= (checkpoint?.sequence ?? lastVisible))).view()
        .messages.length,
      fromSequence: checkpoint?.sequence ?? lastVisible,
      reason: REASONS[reason] ?? 'retry',
    }
  })
}

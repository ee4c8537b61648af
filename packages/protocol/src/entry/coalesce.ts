import type { Chunk } from '../catalogue/chunk.ts'
import type { Json } from '../json/json.ts'
import { BOUNDARY_TYPES } from './boundary.ts'
import { type Entry, isGuest, sameFields, type WriterOrigin } from './entry.ts'

/** The part, tool call or structured object that a chunk writes to, as a key that is unique in the session. */
export function targetOf(chunk: Chunk, { runId, agentId }: Partial<WriterOrigin>): string | undefined {
  const { id, toolCallId, streamId } = chunk as { id?: string; toolCallId?: string; streamId?: string }
  if (toolCallId !== undefined) return `tool ${toolCallId}`
  if (streamId !== undefined) return `structured ${streamId}`
  return id === undefined ? undefined : `${runId} ${agentId} ${chunk.type.split('-')[0]} ${id}`
}

/** The field with the appended text or items of a delta. */
function deltaFieldOf(chunk: Chunk): 'delta' | 'items' | undefined {
  switch (chunk.type) {
    case 'text-delta':
    case 'reasoning-delta':
    case 'tool-input-delta':
      return 'delta'
    case 'structured-data':
      return chunk.kind === 'text-delta' ? 'delta' : chunk.kind === 'append' ? 'items' : undefined
    default:
      return undefined
  }
}

type DeltaFields = { delta: string; items: readonly Json[] }

/** The last delta of a lane, which the next one may be merged into. */
interface OpenDelta {
  readonly index: number
  readonly target: string
  readonly entry: Entry
  readonly field: keyof DeltaFields
  readonly added: (string | readonly Json[])[]
}

/**
 * Merges consecutive deltas of one part within a batch. They must be equal in all other fields, with no other chunk of their
 * lane, no other write to the part and no commit, discard, end, rewind or takeover between them. A merged entry keeps the
 * position, sequence and timestamp of its first delta. Folding the result gives the same view as folding the batch.
 */
export function coalesce(entries: readonly Entry[]): Entry[] {
  const merged: Entry[] = []
  const byLane = new Map<string, OpenDelta>()
  const laneOf = new Map<string, string>()

  const close = (lane: string): void => {
    const open = byLane.get(lane)
    if (!open) return
    byLane.delete(lane)
    const { entry, field, added } = open
    if (added.length === 1) return
    const all = field === 'delta' ? added.join('') : added.flat()
    merged[open.index] = { ...entry, chunk: { ...entry.chunk, [field]: all } as Chunk }
  }

  for (const entry of entries) {
    const { chunk, origin } = entry
    const lane = isGuest(origin) ? undefined : `${origin.runId} ${origin.lane}`
    const target = targetOf(chunk, origin as Partial<WriterOrigin>)
    const field = !lane || entry.internal || entry.blobs ? undefined : deltaFieldOf(chunk)

    const other = target && laneOf.get(target)
    if (other && other !== lane) close(other)
    if (BOUNDARY_TYPES.has(chunk.type)) for (const key of byLane.keys()) close(key)

    if (lane) {
      const open = byLane.get(lane)
      if (
        open &&
        field &&
        open.target === target &&
        sameFields(open.entry.origin, origin) &&
        sameFields(open.entry.chunk, chunk, [open.field])
      ) {
        open.added.push((chunk as unknown as DeltaFields)[field])
        continue
      }
      close(lane)
      if (target) {
        laneOf.set(target, lane)
        if (field) {
          const added = [(chunk as unknown as DeltaFields)[field]]
          byLane.set(lane, { index: merged.length, target, entry, field, added })
        }
      }
    }
    merged.push(entry)
  }
  for (const key of byLane.keys()) close(key)
  return merged
}

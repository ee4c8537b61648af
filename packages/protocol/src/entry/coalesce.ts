import type { Chunk } from '../catalogue/chunk.ts'
import type { Json } from '../json/json.ts'
import { type Entry, isGuest, sameFields, type WriterOrigin } from './entry.ts'

/** What ends or changes who may write what: no merge crosses it, whichever lane it comes from. */
const BARRIERS = new Set([
  'checkpoint-created',
  'step-discarded',
  'subagent-start',
  'subagent-end',
  'run-started',
  'run-paused',
  'run-resumed',
  'run-finished',
  'executor-superseded',
  'rewind',
])

/** What a chunk writes to, as a name in its session, if others may write there too. */
export function targetOf(chunk: Chunk, { runId, agentId }: Partial<WriterOrigin>): string | undefined {
  const { id, toolCallId, streamId } = chunk as { id?: string; toolCallId?: string; streamId?: string }
  if (toolCallId !== undefined) return `tool ${toolCallId}`
  if (streamId !== undefined) return `structured ${streamId}`
  return id === undefined ? undefined : `${runId} ${agentId} ${chunk.type.split('-')[0]} ${id}`
}

/** The field in which a delta says what it adds. */
function addsBy(chunk: Chunk): 'delta' | 'items' | undefined {
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

type Adding = { delta: string; items: readonly Json[] }

/** A lane's latest delta, which the next one may join. */
interface Open {
  readonly index: number
  readonly target: string
  readonly entry: Entry
  readonly field: keyof Adding
  readonly added: (string | readonly Json[])[]
}

/**
 * Merges the deltas of one part within a batch: those that differ in nothing else, with no other chunk of their lane, no other
 * write to that part and no commit, discard, end, rewind or takeover between them. A merged entry keeps the place, sequence
 * and timestamp of its first delta; the fold of the result is the fold of the batch.
 */
export function coalesce(entries: readonly Entry[]): Entry[] {
  const merged: Entry[] = []
  const byLane = new Map<string, Open>()
  const laneOf = new Map<string, string>()

  const close = (lane: string): void => {
    const open = byLane.get(lane)
    if (open === undefined) return
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
    const field = lane === undefined || entry.internal || entry.blobs ? undefined : addsBy(chunk)

    const other = target === undefined ? undefined : laneOf.get(target)
    if (other !== undefined && other !== lane) close(other)
    if (BARRIERS.has(chunk.type)) for (const key of byLane.keys()) close(key)

    if (lane !== undefined) {
      const open = byLane.get(lane)
      if (
        open !== undefined &&
        field !== undefined &&
        open.target === target &&
        sameFields(open.entry.origin, origin) &&
        sameFields(open.entry.chunk, chunk, [open.field])
      ) {
        open.added.push((chunk as unknown as Adding)[field])
        continue
      }
      close(lane)
      if (target !== undefined) {
        laneOf.set(target, lane)
        if (field !== undefined) {
          const added = [(chunk as unknown as Adding)[field]]
          byLane.set(lane, { index: merged.length, target, entry, field, added })
        }
      }
    }
    merged.push(entry)
  }
  for (const key of byLane.keys()) close(key)
  return merged
}

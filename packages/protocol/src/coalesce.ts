import type { Chunk } from './catalogue/chunk.ts'
import { type Entry, isGuest, sameFields, type WriterOrigin } from './entry.ts'
import type { Json } from './json/value.ts'

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

/** What a chunk writes to, if others may write there too. */
function targetOf(chunk: Chunk, { runId, agentId }: Partial<WriterOrigin>): string | undefined {
  const { id, toolCallId, streamId } = chunk as { id?: string; toolCallId?: string; streamId?: string }
  if (toolCallId !== undefined) return `tool ${toolCallId}`
  if (streamId !== undefined) return `structured ${streamId}`
  return id === undefined ? undefined : `${runId} ${agentId} ${chunk.type.split('-')[0]} ${id}`
}

const MERGED = /^((text|reasoning|tool-input)-delta|structured-data)$/

/** What a delta adds: text or items. */
function addedBy(chunk: Chunk): string | readonly Json[] | undefined {
  const { delta, items } = chunk as { delta?: string; items?: Json[] }
  return MERGED.test(chunk.type) ? (delta ?? items) : undefined
}

/** A lane's latest delta, which the next one may join. */
interface Open {
  readonly index: number
  readonly target: string
  readonly entry: Entry
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
    if (open.added.length > 1) merged[open.index] = join(merged[open.index] as Entry, open.added)
  }

  for (const entry of entries) {
    const { chunk, origin } = entry
    const lane = isGuest(origin) ? undefined : `${origin.runId} ${origin.lane}`
    const target = targetOf(chunk, origin as Partial<WriterOrigin>)
    const added = lane === undefined || entry.internal || entry.blobs ? undefined : addedBy(chunk)

    const other = target === undefined ? undefined : laneOf.get(target)
    if (other !== undefined && other !== lane) close(other)
    if (BARRIERS.has(chunk.type)) for (const key of byLane.keys()) close(key)

    if (lane !== undefined) {
      const open = byLane.get(lane)
      if (
        open !== undefined &&
        added !== undefined &&
        open.target === target &&
        sameFields(open.entry.origin, origin) &&
        sameFields(open.entry.chunk, chunk, ['delta', 'items'])
      ) {
        open.added.push(added)
        continue
      }
      close(lane)
      if (target !== undefined) {
        laneOf.set(target, lane)
        if (added !== undefined) byLane.set(lane, { index: merged.length, target, entry, added: [added] })
      }
    }
    merged.push(entry)
  }
  for (const key of byLane.keys()) close(key)
  return merged
}

function join(entry: Entry, added: readonly (string | readonly Json[])[]): Entry {
  const chunk = (
    'items' in entry.chunk ? { ...entry.chunk, items: added.flat() } : { ...entry.chunk, delta: added.join('') }
  ) as Entry['chunk']
  return { ...entry, chunk }
}

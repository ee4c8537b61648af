import type { Chunk } from './catalogue/chunk.ts'
import { type Entry, isGuest, type WriterOrigin } from './entry.ts'
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

/** What a delta may be merged with: the same in everything but what it adds. */
function kindOf(chunk: Chunk): string | undefined {
  switch (chunk.type) {
    case 'text-delta':
    case 'reasoning-delta':
      return chunk.providerMetadata ? undefined : chunk.type
    case 'tool-input-delta':
      return chunk.type
    case 'structured-data': {
      if (chunk.kind !== 'append' && chunk.kind !== 'text-delta') return undefined
      const { kind, path, dataType, schemaId, schemaVersion, id, node } = chunk
      return JSON.stringify([kind, path, dataType, schemaId, schemaVersion, id, node])
    }
    default:
      return undefined
  }
}

const sameOrigin = (a: WriterOrigin, b: WriterOrigin): boolean =>
  a === b ||
  (a.runId === b.runId &&
    a.lane === b.lane &&
    a.agentId === b.agentId &&
    a.agentType === b.agentType &&
    a.step === b.step &&
    a.node === b.node &&
    a.model === b.model)

/** A lane's latest delta, which the next one may join. */
interface Open {
  readonly index: number
  readonly target: string
  readonly kind: string
  readonly origin: WriterOrigin
  readonly added: (string | readonly Json[])[]
}

const addedBy = (chunk: Chunk): string | readonly Json[] =>
  'items' in chunk ? chunk.items : (chunk as { delta: string }).delta

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
    const kind = lane === undefined || entry.internal || entry.blobs ? undefined : kindOf(chunk)

    const other = target === undefined ? undefined : laneOf.get(target)
    if (other !== undefined && other !== lane) close(other)
    if (BARRIERS.has(chunk.type)) for (const key of [...byLane.keys()]) close(key)

    const open = lane === undefined ? undefined : byLane.get(lane)
    if (open && open.kind === kind && open.target === target && sameOrigin(open.origin, origin as WriterOrigin)) {
      open.added.push(addedBy(chunk))
      continue
    }
    if (lane !== undefined) close(lane)
    if (lane !== undefined && target !== undefined) {
      laneOf.set(target, lane)
      if (kind !== undefined) {
        byLane.set(lane, {
          index: merged.length,
          target,
          kind,
          origin: origin as WriterOrigin,
          added: [addedBy(chunk)],
        })
      }
    }
    merged.push(entry)
  }
  for (const key of [...byLane.keys()]) close(key)
  return merged
}

function join(entry: Entry, added: readonly (string | readonly Json[])[]): Entry {
  const chunk = (
    'items' in entry.chunk ? { ...entry.chunk, items: added.flat() } : { ...entry.chunk, delta: added.join('') }
  ) as Entry['chunk']
  return { ...entry, chunk }
}

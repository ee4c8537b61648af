// Slots of a writer's queue: entries that are checked and measured, with large values moved to blobs and long deltas
// split.

import { type Chunk, isGuest, type WriterOrigin } from '@millrace/protocol'
import { BOUNDARY_TYPES, checkChunk, checkOrigin } from '@millrace/protocol/internal'
import { extractBlob, type NewBlob } from '../store/blobs.ts'
import type { NewEntry } from '../store/entry.ts'
import { LogError } from '../store/log-error.ts'
import type { Draft } from './drafts.ts'
import {
  type BatchItem,
  type BatchLike,
  type CommitOptions,
  type Committed,
  isHidden,
  type WriteOptions,
  type Written,
} from './lane.ts'
import { Deferred } from './pending-write.ts'

interface SlotContent {
  readonly entries: readonly NewEntry[]
  readonly blobs: readonly NewBlob[]
  readonly bytes: number
}

/** One write. */
export interface WriteSlot extends SlotContent {
  /** Whether it may wait for other deltas and be merged with them. */
  readonly isDelta: boolean
  readonly isBatch: false
  /** The draft, if the entry is a draft chunk. Discarding it drops the slot. */
  draft?: Draft | undefined
  readonly result: Deferred<Written>
}

/** A batch that is appended as a whole. */
export interface BatchSlot extends SlotContent {
  readonly isDelta: false
  readonly isBatch: true
  readonly draft?: undefined
  /** If it was decided on the ticket: the appender's `foreignChanges` at that time. */
  foreignChanges?: number
  readonly result: Deferred<Committed>
}

export type Slot = WriteSlot | BatchSlot

/** Size limits. */
export interface Bounds {
  readonly maxEntryBytes: number
  readonly maxBatchBytes: number
  readonly blobBytes: number
  readonly maxBlobBytes: number
}

/** Lower limit of `maxEntryBytes`. */
export const MIN_ENTRY_BYTES = 4096
/** Maximum size of an entry besides its delta and its names, in bytes. */
const OVERHEAD_BYTES = 256
/** Maximum size of a character in JSON, in bytes: an escaped one. */
const CHARACTER_BYTES = 6
/** Maximum size of a number in JSON, in bytes. */
const NUMBER_BYTES = 25
/** Up to this many bytes an upper bound is enough; above it, an entry is measured. */
const MAX_ESTIMATED_BYTES = 16 * 1024
const MAX_DEPTH = 8
/** From this length on a delta may have to be split, in characters. */
const SPLIT_LENGTH = 512

/**
 * An entry of a lane with a copy of the chunk.
 *
 * @throws LogError `invalid`
 */
export function entryOf(from: WriterOrigin, original: Chunk, options: WriteOptions = {}): NewEntry {
  const chunk = copyOf(original)
  const problem = checkChunk(chunk)
  if (problem !== undefined) throw new LogError('invalid', `chunk${problem}`)
  const { step, node, model, internal } = options
  if (internal && BOUNDARY_TYPES.has(chunk.type)) {
    throw new LogError('invalid', `chunk ${chunk.type}: cannot be internal, every reader of the lane must see it`)
  }
  const hasOriginOfLane = step === undefined && node === undefined && model === undefined
  const origin = hasOriginOfLane ? from : originOf({ ...from, ...pickDefined({ step, node, model }) })
  return internal ? { origin, chunk, internal } : { origin, chunk }
}

/** @throws LogError `invalid` if an origin is not a writer's. */
export function originOf(origin: WriterOrigin): WriterOrigin {
  const problem =
    checkOrigin(origin) ?? (isGuest(origin) ? ': expected the origin of a writer, found a guest' : undefined)
  if (problem !== undefined) throw new LogError('invalid', `origin${problem}`)
  return origin
}

/** A copy of the chunk, so that the stored value is the checked one. */
function copyOf(original: Chunk): Chunk {
  const copy = { ...original } as Record<string, unknown>
  for (const key in copy) if (!isScalar(copy[key])) return jsonOf(copy)
  return copy as unknown as Chunk
}

const isScalar = (value: unknown): boolean =>
  typeof value === 'string' || typeof value === 'boolean' || value === undefined || Number.isFinite(value)

/**
 * The value after a JSON round trip.
 *
 * @throws LogError `invalid` if it is not JSON.
 */
export function jsonOf(value: object): Chunk {
  let text: string | undefined
  try {
    text = JSON.stringify(value)
  } catch (error) {
    const found = error instanceof RangeError ? 'a value that is nested too deeply' : 'a cycle or a BigInt'
    throw new LogError('invalid', `chunk: expected JSON, found ${found}`, { cause: error })
  }
  if (text === undefined) throw new LogError('invalid', 'chunk: expected JSON, found nothing')
  return JSON.parse(text) as Chunk
}

/** The entries of a batch, each on its own lane. */
export function entriesOf(from: WriterOrigin, batch: BatchLike, options?: WriteOptions): NewEntry[] {
  return batch.map(item => {
    if ('type' in item) return entryOf(from, item, options)
    const { chunk, lane, ...details } = item satisfies BatchItem
    const hidden = lane?.isInternal && isHidden(chunk) ? { internal: true } : {}
    return entryOf(lane?.origin ?? from, chunk, { ...options, ...hidden, ...details })
  })
}

/** The entries of a commit: those of the batch, and a checkpoint unless the batch ends with one. */
export function commitOf(
  from: WriterOrigin,
  batch: BatchLike,
  { closesStep, ...options }: CommitOptions,
  newId: () => string,
): NewEntry[] {
  const entries = entriesOf(from, batch, options)
  if (entries.at(-1)?.chunk.type === 'checkpoint-created') return entries
  const { internal, ...open } = options
  const checkpoint = { type: 'checkpoint-created', checkpointId: newId(), ...pickDefined({ closesStep }) } as const
  return [...entries, entryOf(from, checkpoint, open)]
}

/**
 * The slots of one write: several if a delta exceeds the size of an entry.
 *
 * @throws LogError `too-large` before anything is sent (law 6).
 */
export function writeSlots(entry: NewEntry, bounds: Bounds): WriteSlot[] {
  const isDelta = deltaOf(entry.chunk) !== undefined
  return splitDelta(entry, bounds).map(piece => {
    return { ...contentOf([piece], bounds), isDelta, isBatch: false, result: new Deferred() }
  })
}

/** @throws LogError `too-large` before anything is sent (law 6). */
export function batchSlot(entries: readonly NewEntry[], bounds: Bounds): BatchSlot {
  return { ...contentOf(entries, bounds), isDelta: false, isBatch: true, result: new Deferred() }
}

/** Whether a commit of that batch fits the size limits. */
export function fits(from: WriterOrigin, batch: BatchLike, bounds: Bounds, epoch: string): boolean {
  try {
    // The id of the checkpoint has its maximum length.
    contentOf(
      commitOf(from, batch, {}, () => `${epoch}-${Number.MAX_SAFE_INTEGER}`),
      bounds,
    )
    return true
  } catch (error) {
    if (error instanceof LogError && error.code === 'too-large') return false
    throw error
  }
}

function contentOf(
  entries: readonly NewEntry[],
  { maxEntryBytes, maxBatchBytes, blobBytes, maxBlobBytes }: Bounds,
): SlotContent {
  const extracted = entries.map(entry => extractBlob(entry, blobBytes))
  let bytes = 0
  for (const { entry, blob } of extracted) {
    const size = sizeOf(entry, maxEntryBytes)
    checkSize(entry.chunk, size, maxEntryBytes)
    if (blob) checkSize(entry.chunk, blob.data.length, maxBlobBytes)
    bytes += size
  }
  if (bytes > maxBatchBytes) {
    throw new LogError(
      'too-large',
      `batch: expected at most ${maxBatchBytes} bytes, found ${bytes}: write fewer chunks at once`,
    )
  }
  return { entries: extracted.map(({ entry }) => entry), blobs: extracted.flatMap(({ blob }) => blob ?? []), bytes }
}

/** @throws LogError `too-large` */
export function checkSize({ type }: Chunk, bytes: number, bound: number): void {
  if (bytes <= bound) return
  throw new LogError(
    'too-large',
    `chunk ${type}: expected at most ${bound} bytes, found ${bytes}: split it, or store it elsewhere`,
  )
}

/** The entry, split if its delta exceeds the size of an entry. */
function splitDelta(entry: NewEntry, { maxEntryBytes }: Bounds): NewEntry[] {
  const delta = deltaOf(entry.chunk)
  if (delta === undefined || delta.length <= SPLIT_LENGTH) return [entry]
  const overhead = sizeOf({ ...entry, chunk: { ...entry.chunk, delta: '' } as Chunk }, 0)
  const room = Math.floor((maxEntryBytes - overhead) / CHARACTER_BYTES)
  // The rest of the entry is too large itself, and so would be each piece.
  if (room < 2 || delta.length <= room) return [entry]
  const pieces: NewEntry[] = []
  for (let from = 0; from < delta.length; ) {
    let to = from + room
    // No piece ends inside a surrogate pair.
    if (to < delta.length && isHighSurrogate(delta.charCodeAt(to - 1))) to--
    pieces.push({ ...entry, chunk: { ...entry.chunk, delta: delta.slice(from, to) } as Chunk })
    from = to
  }
  return pieces
}

/** The text that a chunk adds, if it is a delta. */
function deltaOf(chunk: Chunk): string | undefined {
  switch (chunk.type) {
    case 'text-delta':
    case 'reasoning-delta':
    case 'tool-input-delta':
      return chunk.delta
    case 'structured-data':
      return chunk.kind === 'text-delta' ? chunk.delta : undefined
    default:
      return undefined
  }
}

/** The size of an entry in bytes, or a cheap upper bound if that is at most `maxBound`. */
function sizeOf(entry: NewEntry, maxBound: number): number {
  const bound = sizeBound(entry.chunk, 0) + sizeBound(entry.origin, 0) + OVERHEAD_BYTES
  return bound <= Math.min(MAX_ESTIMATED_BYTES, maxBound) ? bound : Buffer.byteLength(JSON.stringify(entry))
}

/** An upper bound of a value's size as JSON, in bytes; infinite for large or deep values. */
function sizeBound(value: unknown, depth: number): number {
  switch (typeof value) {
    case 'string':
      return value.length * CHARACTER_BYTES + 2
    case 'number':
      return NUMBER_BYTES
    case 'boolean':
    case 'undefined':
      return 5
    case 'object': {
      if (value === null) return 5
      if (depth > MAX_DEPTH) return Number.POSITIVE_INFINITY
      let sum = 2
      for (const key in value) {
        sum += key.length * CHARACTER_BYTES + 4 + sizeBound((value as Record<string, unknown>)[key], depth + 1)
        if (sum > MAX_ESTIMATED_BYTES) return Number.POSITIVE_INFINITY
      }
      return sum
    }
    default:
      return Number.POSITIVE_INFINITY
  }
}

const pickDefined = <T extends object>(fields: T): Partial<T> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<T>

const isHighSurrogate = (code: number): boolean => code >= 0xd800 && code <= 0xdbff

// What a writer appends, made ready to wait in its queue: checked, measured, with large values taken out and long deltas in pieces.

import { type Chunk, checkChunk, checkOrigin, isGuest, type WriterOrigin } from '@millrace/protocol'
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
  PUBLIC,
  type WriteOptions,
  type Written,
} from './lane.ts'
import { Deferred } from './pending-write.ts'

interface SlotLoad {
  readonly entries: readonly NewEntry[]
  readonly blobs: readonly NewBlob[]
  readonly bytes: number
}

/** One write. */
export interface WriteSlot extends SlotLoad {
  /** A delta may wait for others and be merged with them. */
  readonly isDelta: boolean
  readonly isBatch: false
  /** What it is part of, if it is a word; it goes with that where that is discarded. */
  draft?: Draft | undefined
  readonly flight: Deferred<Written>
}

/** A batch that goes out whole. */
export interface BatchSlot extends SlotLoad {
  readonly isDelta: false
  readonly isBatch: true
  readonly draft?: undefined
  /** For what was decided on the ticket: how often that had been moved by others when it was. */
  surprises?: number
  readonly flight: Deferred<Committed>
}

export type Slot = WriteSlot | BatchSlot

/** How large things may be. */
export interface Bounds {
  readonly maxEntryBytes: number
  readonly maxBatchBytes: number
  readonly blobBytes: number
  readonly maxBlobBytes: number
}

/** The least that an entry must be allowed, so that anything can be said at all. */
export const MIN_ENTRY_BYTES = 4096
/** What an entry takes beside its delta and its names, at most. */
const OVERHEAD_BYTES = 256
/** The most bytes that a character of a text may take in JSON: an escaped one. */
const CHARACTER_BYTES = 6
/** What a number takes in JSON, at most. */
const NUMBER_BYTES = 25
/** Up to so many bytes a bound will do; above, an entry is measured. */
const SMALL = 16 * 1024
const MAX_DEPTH = 8
/** From this length on a delta may have to be said in pieces. */
const LONG = 512

/** An entry of a lane, apart from what the caller may do with its chunk from then on; throws where the chunk is none. */
export function entryOf(from: WriterOrigin, said: Chunk, options: WriteOptions = {}): NewEntry {
  const chunk = copyOf(said)
  const problem = checkChunk(chunk)
  if (problem !== undefined) throw new LogError('invalid', `chunk${problem}`)
  const { step, node, model, internal } = options
  if (internal && PUBLIC.has(chunk.type)) {
    throw new LogError('invalid', `chunk ${chunk.type}: it cannot be internal, who reads the lane must see it`)
  }
  const isAsLane = step === undefined && node === undefined && model === undefined
  const origin = isAsLane ? from : originOf({ ...from, ...pickDefined({ step, node, model }) })
  return internal ? { origin, chunk, internal } : { origin, chunk }
}

/** An origin as the protocol has it; throws where it is none. */
export function originOf(origin: WriterOrigin): WriterOrigin {
  const problem = checkOrigin(origin) ?? (isGuest(origin) ? '.guest: a writer is none' : undefined)
  if (problem !== undefined) throw new LogError('invalid', `origin${problem}`)
  return origin
}

/** A chunk as it will be read: what is checked is what is stored, whatever the caller's object does or becomes. */
function copyOf(said: Chunk): Chunk {
  const copy = { ...said } as Record<string, unknown>
  for (const key in copy) if (!isFlat(copy[key])) return jsonOf(copy)
  return copy as unknown as Chunk
}

const isFlat = (value: unknown): boolean =>
  typeof value === 'string' || typeof value === 'boolean' || value === undefined || Number.isFinite(value)

/** A chunk as JSON has it; throws where it is none. */
export function jsonOf(value: object): Chunk {
  let text: string | undefined
  try {
    text = JSON.stringify(value)
  } catch (error) {
    const found = error instanceof RangeError ? 'one nested too deep' : 'a cycle or a BigInt'
    throw new LogError('invalid', `chunk: expected JSON, found ${found}`, { cause: error })
  }
  if (text === undefined) throw new LogError('invalid', 'chunk: expected JSON, found nothing')
  return JSON.parse(text) as Chunk
}

/** The entries of a batch, each on its own lane. */
export function entriesOf(from: WriterOrigin, batch: BatchLike, options?: WriteOptions): NewEntry[] {
  return batch.map(item => {
    if ('type' in item) return entryOf(from, item, options)
    const { chunk, lane, ...own } = item satisfies BatchItem
    const hidden = lane?.isInternal && isHidden(chunk) ? { internal: true } : {}
    return entryOf(lane?.origin ?? from, chunk, { ...options, ...hidden, ...own })
  })
}

/** The entries of a commit: those of a batch, and the checkpoint that ends it unless the caller's own does. */
export function commitOf(
  from: WriterOrigin,
  batch: BatchLike,
  { closesStep, ...options }: CommitOptions,
  newId: () => string,
): NewEntry[] {
  const entries = entriesOf(from, batch, options)
  if (entries.at(-1)?.chunk.type === 'checkpoint-created') return entries
  const { internal, ...open } = options
  const said = { type: 'checkpoint-created', checkpointId: newId(), ...pickDefined({ closesStep }) } as const
  return [...entries, entryOf(from, said, open)]
}

/** The slots of one write: several where a delta is longer than an entry may be. Throws `too-large` before anything is sent (law 6). */
export function writeSlots(entry: NewEntry, bounds: Bounds): WriteSlot[] {
  const isDelta = deltaOf(entry.chunk) !== undefined
  return pieces(entry, bounds).map(piece => {
    return { ...load([piece], bounds), isDelta, isBatch: false, flight: new Deferred() }
  })
}

/** The slot of a batch. Throws `too-large` before anything is sent (law 6). */
export function batchSlot(entries: readonly NewEntry[], bounds: Bounds): BatchSlot {
  return { ...load(entries, bounds), isDelta: false, isBatch: true, flight: new Deferred() }
}

/** Whether a commit of that batch is none too large. */
export function fits(from: WriterOrigin, batch: BatchLike, bounds: Bounds, epoch: string): boolean {
  try {
    // Under the longest of all names that its checkpoint could have.
    load(
      commitOf(from, batch, {}, () => `${epoch}-${Number.MAX_SAFE_INTEGER}`),
      bounds,
    )
    return true
  } catch (error) {
    if (error instanceof LogError && error.code === 'too-large') return false
    throw error
  }
}

function load(
  entries: readonly NewEntry[],
  { maxEntryBytes, maxBatchBytes, blobBytes, maxBlobBytes }: Bounds,
): SlotLoad {
  const slim = entries.map(entry => extractBlob(entry, blobBytes))
  let bytes = 0
  for (const { entry, blob } of slim) {
    const size = sizeOf(entry, maxEntryBytes)
    checkSize(entry.chunk, size, maxEntryBytes)
    if (blob) checkSize(entry.chunk, blob.data.length, maxBlobBytes)
    bytes += size
  }
  if (bytes > maxBatchBytes) {
    throw new LogError('too-large', `a batch of ${bytes} bytes: at most ${maxBatchBytes} fit`)
  }
  return { entries: slim.map(({ entry }) => entry), blobs: slim.flatMap(({ blob }) => blob ?? []), bytes }
}

/** Throws where a chunk, or what it carries, is larger than it may be. */
export function checkSize({ type }: Chunk, bytes: number, bound: number): void {
  if (bytes <= bound) return
  throw new LogError(
    'too-large',
    `chunk ${type}: ${bytes} bytes, at most ${bound} fit; say it in pieces or keep it elsewhere`,
  )
}

/** An entry, in as many pieces as it takes where a delta is longer than an entry may be. */
function pieces(entry: NewEntry, { maxEntryBytes }: Bounds): NewEntry[] {
  const delta = deltaOf(entry.chunk)
  if (delta === undefined || delta.length <= LONG) return [entry]
  const beside = sizeOf({ ...entry, chunk: { ...entry.chunk, delta: '' } as Chunk }, 0)
  const room = Math.floor((maxEntryBytes - beside) / CHARACTER_BYTES)
  // What stands beside the delta is too large itself: so is each piece.
  if (room < 2 || delta.length <= room) return [entry]
  const found: NewEntry[] = []
  for (let from = 0; from < delta.length; ) {
    let to = from + room
    // No piece ends inside a character.
    if (to < delta.length && isHighSurrogate(delta.charCodeAt(to - 1))) to--
    found.push({ ...entry, chunk: { ...entry.chunk, delta: delta.slice(from, to) } as Chunk })
    from = to
  }
  return found
}

/** What a chunk adds to a part, if it is a delta of text. */
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

/** The bytes of an entry, or a bound above them that is quickly found and small enough. */
function sizeOf(entry: NewEntry, enough: number): number {
  const bound = boundOf(entry.chunk, 0) + boundOf(entry.origin, 0) + OVERHEAD_BYTES
  return bound <= Math.min(SMALL, enough) ? bound : Buffer.byteLength(JSON.stringify(entry))
}

/** No fewer bytes than a value takes as JSON; infinite for what is large or deep. */
function boundOf(value: unknown, depth: number): number {
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
        sum += key.length * CHARACTER_BYTES + 4 + boundOf((value as Record<string, unknown>)[key], depth + 1)
        if (sum > SMALL) return Number.POSITIVE_INFINITY
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

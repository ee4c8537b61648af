// The pieces of a log that readers get, with their JSON where the store has it.

import { type Cursor, coalesce, type Entry, encodeCursor } from '@millrace/protocol'
import type { DecodedBatch } from '../store/decoded-batch.ts'
import type { StoredBatch } from '../store/log-store.ts'
import { entriesJson, isPlain } from './entries-json.ts'
import { decodeJoined } from './join-deltas.ts'

/** All entries of `(after, sequence]` that the reader may see. */
export interface ReadBatch {
  readonly after: number
  readonly sequence: number
  /** The cursor at `sequence`. */
  readonly cursor: string
  readonly entries: readonly Entry[]
  /** Whether the piece reached the head of the log when it was read. */
  readonly isCaughtUp: boolean
  /** The head of the log when the reader started. Entries up to it are a replay. */
  readonly replayEnd: number
}

/** The stored batches of pieces that hold exactly their entries. A copy of a piece has none. */
const storedBatches = new WeakMap<object, readonly StoredBatch[]>()

/** The entries of a piece as the JSON of a frame, or undefined if they have to be encoded. */
export function entriesJsonOf(piece: object): string | undefined {
  const batches = storedBatches.get(piece)
  return batches && entriesJson(batches)
}

/** A piece with all entries of some batches, merged or as stored. */
export function unfilteredPiece(
  about: Omit<ReadBatch, 'entries'>,
  batches: readonly DecodedBatch[],
  merges: boolean,
): ReadBatch {
  const bodies = batches.map(batch => batch.stored)
  let entries: readonly Entry[] | undefined
  const batch: ReadBatch = {
    ...about,
    get entries() {
      entries ??= merges ? coalesce(decodeJoined(bodies)) : batches.flatMap(batch => batch.entries)
      return entries
    },
  }
  if (!merges) storedBatches.set(batch, bodies)
  return batch
}

/** The entries after a sequence that every live subscriber gets: all but the internal ones (law 10). */
export function livePiece(
  after: number,
  cursor: Cursor,
  batches: readonly DecodedBatch[],
  isCaughtUp: boolean,
): ReadBatch {
  const about = { after, sequence: cursor.sequence, cursor: encodeCursor(cursor), isCaughtUp, replayEnd: after }
  const isAfter = (batches[0] as DecodedBatch).stored.first > after
  if (isAfter && batches.every(({ stored }) => isPlain(stored))) return unfilteredPiece(about, batches, false)
  const isPublic = ({ sequence, internal }: Entry) => sequence > after && !internal
  return { ...about, entries: batches.flatMap(batch => batch.entries.filter(isPublic)) }
}

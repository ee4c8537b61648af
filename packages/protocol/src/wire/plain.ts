// Almost every frame is plain: entries of a writer, without blobs. Such a frame is told by reading its fields by name, at a third of what
// it costs to walk the table, whose keys are computed. Only to accept: whatever is not plain is for `checkFrame` to judge, and a test walks
// the table to see that nothing is accepted here which it refuses.

import { checkChunk } from '../catalogue/validate.ts'
import type { Entry, GuestOrigin, WriterOrigin } from '../entry.ts'
import type { EntriesFrame } from '../frame.ts'

type Unchecked<T> = { readonly [Key in keyof T]?: unknown } | null

const isText = (value: unknown): boolean => typeof value === 'string'
const isTextOrNone = (value: unknown): boolean => value === undefined || typeof value === 'string'

const isWriter = (origin: Unchecked<WriterOrigin & GuestOrigin>): boolean =>
  typeof origin === 'object' &&
  origin !== null &&
  origin.guest === undefined &&
  isText(origin.runId) &&
  isText(origin.lane) &&
  isText(origin.agentId) &&
  isText(origin.agentType) &&
  Number.isSafeInteger(origin.step) &&
  isTextOrNone(origin.node) &&
  isTextOrNone(origin.model)

const isPlainEntry = (entry: Unchecked<Entry>, first: boolean): boolean =>
  typeof entry === 'object' &&
  entry !== null &&
  Number.isSafeInteger(entry.sequence) &&
  (entry.sequence as number) > 0 &&
  Number.isFinite(entry.timestamp) &&
  entry.internal === undefined &&
  entry.blobs === undefined &&
  (entry.origin === undefined ? !first : isWriter(entry.origin as WriterOrigin)) &&
  checkChunk(entry.chunk) === undefined

/** Tells a valid and plain `entries` frame from everything else. */
export function isPlainFrame(value: unknown): boolean {
  const frame = value as Unchecked<EntriesFrame>
  return (
    typeof frame === 'object' &&
    frame?.type === 'entries' &&
    isTextOrNone(frame.session) &&
    (frame.after === undefined || Number.isSafeInteger(frame.after)) &&
    Number.isSafeInteger(frame.sequence) &&
    isText(frame.cursor) &&
    Array.isArray(frame.entries) &&
    frame.entries.every((entry, i) => isPlainEntry(entry, i === 0))
  )
}

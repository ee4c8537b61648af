// Almost every frame is plain: entries of a writer, without blobs. Such a frame is told by reading its fields by name, at a third of what
// it costs to walk the table, whose keys are computed. Only to accept: whatever is not plain is for `checkFrame` to judge, and a test walks
// the table to see that nothing is accepted here which it refuses.

import { checkChunk } from '../catalogue/validate.ts'

type Loose = { readonly [key: string]: unknown }

const isText = (value: unknown): boolean => typeof value === 'string'
const isTextOrNone = (value: unknown): boolean => value === undefined || typeof value === 'string'

const isWriter = (origin: Loose | null): boolean =>
  typeof origin === 'object' &&
  origin !== null &&
  origin['guest'] === undefined &&
  isText(origin['runId']) &&
  isText(origin['lane']) &&
  isText(origin['agentId']) &&
  isText(origin['agentType']) &&
  Number.isSafeInteger(origin['step']) &&
  isTextOrNone(origin['node']) &&
  isTextOrNone(origin['model'])

function isPlainEntry(entry: Loose | null, first: boolean): boolean {
  if (typeof entry !== 'object' || entry === null) return false
  const { origin, chunk } = entry
  return (
    Number.isSafeInteger(entry['sequence']) &&
    (entry['sequence'] as number) > 0 &&
    Number.isFinite(entry['timestamp']) &&
    entry['internal'] === undefined &&
    entry['blobs'] === undefined &&
    (origin === undefined ? !first : isWriter(origin as Loose)) &&
    checkChunk(chunk) === undefined
  )
}

/** Tells a valid and plain `entries` frame from everything else. */
export function isPlainFrame(value: unknown): boolean {
  const frame = value as Loose | null
  if (typeof frame !== 'object' || frame?.['type'] !== 'entries') return false
  const { entries, after } = frame
  return (
    isTextOrNone(frame['session']) &&
    (after === undefined || Number.isSafeInteger(after)) &&
    Number.isSafeInteger(frame['sequence']) &&
    isText(frame['cursor']) &&
    Array.isArray(entries) &&
    entries.every((entry, i) => isPlainEntry(entry, i === 0))
  )
}

import type { Chunk } from '../catalogue/chunk.ts'
import type { FieldTypes } from '../catalogue/field-types.ts'

/** The fields of an entry, in the notation of the catalogue; `origin` and `chunk` are looked at by themselves. */
export const entryFields = {
  sequence: 'sequence',
  timestamp: 'number',
  origin: 'object',
  chunk: 'object',
  internal: 'true?',
  blobs: 'blob{}?',
} as const satisfies FieldTypes

/** The fields of the two kinds of origin; one with a `guest` is a guest's. */
export const origins = {
  writer: {
    runId: 'string',
    lane: 'string',
    agentId: 'string',
    agentType: 'string',
    step: 'count',
    node: 'string?',
    model: 'string?',
  },
  guest: { guest: 'string', runId: 'string?', lane: 'string?' },
} as const satisfies Record<string, FieldTypes>

/** Who wrote an entry as the producer of a run: which run, on which lane of it, as which agent, in which step. */
export interface WriterOrigin {
  guest?: never
  runId: string
  lane: string
  /** The run's id for the root agent, the id of its `subagent-start` for a child. */
  agentId: string
  /** The agent's name. */
  agentType: string
  step: number
  node?: string
  model?: string
}

/** Who wrote an entry without being the producer: a label that the server's `authorize` gave. */
export interface GuestOrigin {
  guest: string
  runId?: string
  lane?: string
}

export type Origin = WriterOrigin | GuestOrigin

/** Where a large value went: the store's blob that stands for a `null` in the chunk. */
export interface BlobRef {
  hash: string
  bytes: number
}

/** A chunk with a place in a session's log. */
export interface Entry<C = Chunk> {
  sequence: number
  /** The store's clock, in milliseconds; never goes back within a log. */
  timestamp: number
  origin: Origin
  chunk: C
  /** An internal entry never leaves the server (law 10). */
  internal?: true
  /** By JSON pointer into the chunk. */
  blobs?: { [pointer: string]: BlobRef }
}

/** Tells a guest's origin from a writer's. */
export const isGuest = (origin: Origin): origin is GuestOrigin => origin.guest !== undefined

/** Whether two flat objects say the same, as JSON has them, in every field but some; what is not flat counts as different. */
export function sameFields<T extends object>(a: T, b: T, but: readonly string[] = []): boolean {
  if (a === b) return true
  for (const key in a) if (a[key] !== b[key] && !but.includes(key)) return false
  for (const key in b) if (a[key] !== b[key] && !but.includes(key)) return false
  return true
}

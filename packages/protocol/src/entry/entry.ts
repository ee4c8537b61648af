import type { Chunk } from '../catalogue/chunk.ts'
import type { FieldTypes } from '../catalogue/field-types.ts'

/** The fields of an entry, in the notation of the catalogue. `origin` and `chunk` have their own checks. */
export const entryFields = {
  sequence: 'sequence',
  timestamp: 'number',
  origin: 'object',
  chunk: 'object',
  internal: 'true?',
  blobs: 'blob{}?',
} as const satisfies FieldTypes

/** The fields of the two kinds of origin. A `guest` field marks the origin of a guest. */
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

/** The origin of an entry from the writer of a run: its run, lane, agent and step. */
export interface WriterOrigin {
  guest?: never
  /** Id of the run. */
  runId: string
  /** Name of the lane, such as `main/call-1`. */
  lane: string
  /** The id of the run for the root agent, the `agentId` of its `subagent-start` for a sub-agent. */
  agentId: string
  /** The agent's name. */
  agentType: string
  /** Number of the step, from 1; 0 outside of a step. */
  step: number
  /** Id of the workflow node, if any. */
  node?: string
  /** Id of the model of the step, if any. */
  model?: string
}

/** The origin of an entry from a guest. `guest` is a label from the server's `authorize`. */
export interface GuestOrigin {
  /** Name of the guest. */
  guest: string
  /** The run that the entry is about, if any. */
  runId?: string
  /** The lane that the entry is about, if any. */
  lane?: string
}

/** The author of an entry: the writer of a run, or a guest. */
export type Origin = WriterOrigin | GuestOrigin

/** A reference to a large value that is stored as a blob. The chunk has `null` in its place. */
export interface BlobRef {
  /** SHA-256 of the JSON text, in hex. That of an internal entry has a prefix. */
  hash: string
  /** Size of the JSON text, in bytes. */
  bytes: number
}

/** A chunk in the log of a session, with its sequence and origin. */
export interface Entry<C = Chunk> {
  /** Position in the log, from 1. */
  sequence: number
  /** The time of the store, in ms since 1970. Never decreases within a log. */
  timestamp: number
  /** Author of the chunk. */
  origin: Origin
  /** The chunk. */
  chunk: C
  /** An internal entry never leaves the server (law 10). */
  internal?: true
  /** Blobs of large values, by JSON pointer into the chunk. */
  blobs?: { [pointer: string]: BlobRef }
}

/** Whether an origin is that of a guest. */
export const isGuest = (origin: Origin): origin is GuestOrigin => origin.guest !== undefined

/** Whether two flat objects have equal fields, except those in `except`. Nested values are compared by identity. */
export function sameFields<T extends object>(a: T, b: T, except: readonly string[] = []): boolean {
  if (a === b) return true
  for (const key in a) if (a[key] !== b[key] && !except.includes(key)) return false
  for (const key in b) if (a[key] !== b[key] && !except.includes(key)) return false
  return true
}

// Appends of guests: checked against the ticket, conditional on its version, with an idempotency key (law 5).

import { createHash } from 'node:crypto'
import type { Chunk, GuestOrigin, Json } from '@millrace/protocol'
import { checkChunk, isObject } from '@millrace/protocol/internal'
import { extractBlob } from '../store/blobs.ts'
import { absentError } from '../store/checks.ts'
import { encodeBatch, type NewEntry } from '../store/entry.ts'
import { LogError } from '../store/log-error.ts'
import type { Accepted, LogStore } from '../store/log-store.ts'
import { randomName } from '../store/names.ts'
import { readHead } from '../store/read-head.ts'
import type { StoreCall } from '../store/retry.ts'
import {
  answeredLane,
  checkGuestChunk,
  type GuestRefusalReason,
  guestRefusalReason,
} from '../ticket/guest-refusal-reason.ts'
import { nameProblem } from '../ticket/name-problem.ts'
import { advance, recordOf, ticketOf } from '../ticket/ticket.ts'
import { checkSize, jsonOf } from './slot.ts'

/** The result of a guest's append. `reason` is for programs. */
export type GuestOutcome = Accepted | { readonly outcome: 'refused'; readonly reason: GuestRefusalReason }

/** Chunks that settle a pending, which is open once. */
const SETTLING_TYPES = new Set([
  'tool-approval-response',
  'interrupt-response',
  'tool-output-available',
  'tool-output-error',
])

export interface GuestSettings {
  readonly store: LogStore
  readonly blobBytes: number
  readonly maxEntryBytes: number
  readonly maxBlobBytes: number
  readonly call: StoreCall
  /** Whether the session can be rewound to this sequence (law 3). */
  canRewindTo(streamId: string, toSequence: number): Promise<boolean>
}

/** Options of a guest's append. */
export interface GuestOptions {
  /** The server's internal context of a requested run. @default none */
  readonly context?: Json
  /**
   * The ticket's version on which the guest decided. With another version the append is refused as `moved`.
   * @default any version
   */
  readonly ifVersion?: string
  /** The expected owner of the log, null for none. A log of another owner is treated as missing. @default any owner */
  readonly principal?: string | null
}

/** Appends a guest's chunk, or returns why it is refused. A repeated append returns the sequences of the first. */
export async function appendAsGuest(
  settings: GuestSettings,
  streamId: string,
  guest: string,
  original: Chunk,
  { context, ifVersion, principal }: GuestOptions = {},
): Promise<GuestOutcome> {
  const { store, call, blobBytes, maxEntryBytes, maxBlobBytes } = settings
  const problem = nameProblem('guest', guest)
  if (problem !== undefined) throw new LogError('invalid', problem)
  // The ticket keeps this value, so it must not depend on the caller's object.
  const chunk = original?.type === 'session-info' ? jsonOf(original) : original
  checkGuestChunk(chunk)
  const isRequest = chunk.type === 'run-requested'
  const contextChunk = context === undefined ? undefined : contextOf(chunk, context)
  const nonce = randomName()
  let key = keyOf(guest, chunk, nonce)
  let earlier: Accepted | undefined
  for (;;) {
    const page = await call(() => readHead(store, streamId))
    // The version belongs to this log: a log that was created later under the same name has another version.
    if (page === undefined || (principal !== undefined && page.principal !== principal)) {
      if (!isRequest) return { outcome: 'refused', reason: 'unknown' }
      throw absentError(streamId)
    }
    const ticket = ticketOf(page.ticket)
    const origin: GuestOrigin = { guest, ...answeredLane(ticket, chunk) }
    let refusal = guestRefusalReason(ticket, { origin, chunk }, page.clock)
    if (!refusal && isRequest && chunk.cut && !(await settings.canRewindTo(streamId, chunk.cut.toSequence)))
      refusal = 'gone'
    if (!refusal && ifVersion !== undefined && page.version !== ifVersion) refusal = 'moved'
    if (refusal) {
      if (earlier) return earlier
      // The first try may have been accepted and its answer lost, so the key decides first.
      const found = await call(() => store.find(streamId, key))
      if (found) return { outcome: 'duplicate', ...found, clock: page.clock }
      return { outcome: 'refused', reason: refusal }
    }
    // Which observers the server notified is internal.
    const newEntries: NewEntry[] = [{ origin, chunk, ...(chunk.type === 'run-notified' && { internal: true }) }]
    // The context is the server's, so it is internal.
    if (contextChunk) newEntries.push({ origin, chunk: contextChunk, internal: true })
    const extracted = newEntries.map(entry => extractBlob(entry, blobBytes))
    for (const { entry, blob } of extracted) {
      checkSize(entry.chunk, Buffer.byteLength(encodeBatch([entry]).body), maxEntryBytes)
      if (blob) checkSize(entry.chunk, blob.data.length, maxBlobBytes)
    }
    const entries = extracted.map(({ entry }) => entry)
    const batch = encodeBatch(entries)
    // The batch that starts the run repeats the request, so it must fit too.
    checkSize(chunk, Buffer.byteLength(batch.body), store.maxBatchBytes / 2)
    for (const { blob } of extracted) if (blob) await call(() => store.putBlob(streamId, blob.hash, blob.data))
    const next = recordOf(advance(ticket, entries))
    const move = { ifVersion: page.version, next }
    const result = await call(() => store.append(streamId, batch, { key, keep: isRequest, nonce }, move))
    if ('first' in result) {
      if (result.outcome === 'appended' || !SETTLING_TYPES.has(chunk.type)) return result
      // After a rewind, the same question may be asked again. If it is still pending, the earlier answer was to its
      // first occurrence.
      earlier = result
      key = `${key}.${result.first}`
      continue
    }
    if (result.outcome !== 'moved')
      throw new LogError(result.outcome, `the store refused the append: ${result.outcome}`)
  }
}

/** The server's context of a requested run, copied. */
function contextOf({ type }: Chunk, context: Json): Chunk {
  if (type !== 'run-requested')
    throw new LogError('invalid', `chunk ${type}: context is only allowed with run-requested`)
  const chunk = jsonOf({ type: 'run-context', context })
  const problem = checkChunk(chunk)
  if (problem !== undefined) throw new LogError('invalid', `chunk${problem}`)
  return chunk
}

/** The key of the request for a run. */
export const requestKey = (runId: string): string => `run:${runId}`

/** The idempotency key: for an answer its guest and content, for a request its run, for the life of the log. */
function keyOf(guest: string, chunk: Chunk, nonce: string): string {
  if (chunk.type === 'run-requested') return requestKey(chunk.runId)
  // Setting the same title again is a new change.
  return chunk.type === 'session-info' ? `info:${nonce}` : answerKey(guest, chunk)
}

/** The key of an answer: the guest and the whole chunk, independent of the order of its fields. */
function answerKey(guest: string, chunk: Chunk): string {
  // Values that are not JSON are rejected; values that JSON omits do not count.
  const { body } = encodeBatch([{ origin: { guest }, chunk }])
  const canonical = JSON.stringify(JSON.parse(body), (_, value) => (isObject(value) ? sorted(value) : value))
  return `guest:${createHash('sha256').update(canonical).digest('base64url')}`
}

const sorted = (value: object): object => Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))

// How a guest appends: checked against the ticket, on that ticket's version, under a key that tells a repeat (law 5).

import { createHash } from 'node:crypto'
import { type Chunk, checkChunk, type GuestOrigin, type Json } from '@millrace/protocol'
import { extractBlob } from '../store/blobs.ts'
import { encodeBatch, type NewEntry } from '../store/entry.ts'
import { LogError } from '../store/log-error.ts'
import type { Accepted, LogStore } from '../store/log-store.ts'
import { randomName } from '../store/names.ts'
import { readHead } from '../store/read-head.ts'
import type { StoreCall } from '../store/retry.ts'
import { answeredLane, checkGuestChunk, type Refusal, refusalOf } from '../ticket/admission.ts'
import { nameProblem } from '../ticket/name-problem.ts'
import { advance, recordOf, ticketOf } from '../ticket/ticket.ts'
import { checkSize, jsonOf } from './slot.ts'

/** What became of a guest's append; the reason of a refusal is for programs. */
export type GuestOutcome = Accepted | { readonly outcome: 'refused'; readonly reason: Refusal }

/** What settles a pending, which is open once. */
const SETTLES = new Set(['tool-approval-response', 'interrupt-response', 'tool-output-available', 'tool-output-error'])

export interface GuestSettings {
  readonly store: LogStore
  readonly blobBytes: number
  readonly maxEntryBytes: number
  readonly maxBlobBytes: number
  readonly ask: StoreCall
  /** Whether the session can be cut there (law 3). */
  canRewindTo(streamId: string, toSequence: number): Promise<boolean>
}

/** What may go with a guest's chunk. */
export interface GuestOptions {
  /** The server's own context of a run that is asked for; internal. */
  readonly context?: Json
  /** The version of the ticket on which the guest decided; on another it is refused as `moved`. */
  readonly ifVersion?: string
  /** Whose the log must be, null for nobody's; another's is as if it were not there. */
  readonly principal?: string | null
}

/** Appends a guest's chunk, or tells why it does not fit; whoever repeats what was accepted is told so, with the sequences it got. */
export async function appendAsGuest(
  settings: GuestSettings,
  streamId: string,
  guest: string,
  said: Chunk,
  { context, ifVersion, principal }: GuestOptions = {},
): Promise<GuestOutcome> {
  const { store, ask, blobBytes, maxEntryBytes, maxBlobBytes } = settings
  const wrong = nameProblem('guest', guest)
  if (wrong !== undefined) throw new LogError('invalid', wrong)
  // What the ticket keeps is what will be read, whatever the caller's own object does or becomes.
  const chunk = said?.type === 'session-info' ? jsonOf(said) : said
  checkGuestChunk(chunk)
  const isRequest = chunk.type === 'run-requested'
  const beside = context === undefined ? undefined : contextOf(chunk, context)
  const nonce = randomName()
  let key = keyOf(guest, chunk, nonce)
  let earlier: Accepted | undefined
  for (;;) {
    const page = await ask(() => readHead(store, streamId))
    // The version is that of this very log: one that somebody else makes meanwhile under its name has another.
    if (page === undefined || (principal !== undefined && page.principal !== principal)) {
      if (!isRequest) return { outcome: 'refused', reason: 'unknown' }
      throw new LogError('absent', `there is no log ${streamId}: create it first`)
    }
    const ticket = ticketOf(page.ticket)
    const origin: GuestOrigin = { guest, ...answeredLane(ticket, chunk) }
    let refusal = refusalOf(ticket, { origin, chunk }, page.clock)
    if (!refusal && isRequest && chunk.cut && !(await settings.canRewindTo(streamId, chunk.cut.toSequence)))
      refusal = 'gone'
    if (!refusal && ifVersion !== undefined && page.version !== ifVersion) refusal = 'moved'
    if (refusal) {
      if (earlier) return earlier
      // The first time may have been accepted and its answer lost: the key is looked at before everything.
      const known = await ask(() => store.find(streamId, key))
      if (known) return { outcome: 'duplicate', ...known, clock: page.clock }
      return { outcome: 'refused', reason: refusal }
    }
    // Whom the server told is nobody's business.
    const spoken: NewEntry[] = [{ origin, chunk, ...(chunk.type === 'run-notified' && { internal: true }) }]
    // Not the guest's own words, and so not for anybody's eyes.
    if (beside) spoken.push({ origin, chunk: beside, internal: true })
    const extracted = spoken.map(entry => extractBlob(entry, blobBytes))
    for (const { entry, blob } of extracted) {
      checkSize(entry.chunk, Buffer.byteLength(encodeBatch([entry]).body), maxEntryBytes)
      if (blob) checkSize(entry.chunk, blob.data.length, maxBlobBytes)
    }
    const entries = extracted.map(({ entry }) => entry)
    const batch = encodeBatch(entries)
    // The batch that begins the run says it all again: what was asked for can be started.
    checkSize(chunk, Buffer.byteLength(batch.body), store.maxBatchBytes / 2)
    for (const { blob } of extracted) if (blob) await ask(() => store.putBlob(streamId, blob.hash, blob.data))
    const next = recordOf(advance(ticket, entries))
    const move = { ifVersion: page.version, next }
    const result = await ask(() => store.append(streamId, batch, { key, keep: isRequest, nonce }, move))
    if ('first' in result) {
      if (result.outcome === 'appended' || !SETTLES.has(chunk.type)) return result
      // A session that was taken back may ask again what was answered once: where it still waits, that was another time.
      earlier = result
      key = `${key}.${result.first}`
      continue
    }
    if (result.outcome !== 'moved') throw new LogError(result.outcome, `the append was answered with ${result.outcome}`)
  }
}

/** The server's context of a run that is asked for, as it will be read, whatever becomes of the caller's own. */
function contextOf({ type }: Chunk, context: Json): Chunk {
  if (type !== 'run-requested') throw new LogError('invalid', `chunk ${type}: context goes with a request for a run`)
  const chunk = jsonOf({ type: 'run-context', context })
  const problem = checkChunk(chunk)
  if (problem !== undefined) throw new LogError('invalid', `chunk${problem}`)
  return chunk
}

/** The key of the request for a run. */
export const requestKey = (runId: string): string => `run:${runId}`

/** What tells a repeat: of an answer, who, to what and which; of a request its run alone, for as long as the log lives. */
function keyOf(guest: string, chunk: Chunk, nonce: string): string {
  if (chunk.type === 'run-requested') return requestKey(chunk.runId)
  // Who calls a session again what it was called before means it.
  return chunk.type === 'session-info' ? `info:${nonce}` : answerKey(guest, chunk)
}

/** The key of an answer: who, and what in every detail, in whatever order it is said. */
function answerKey(guest: string, chunk: Chunk): string {
  // What is no JSON is refused, and what JSON leaves out does not count.
  const { body } = encodeBatch([{ origin: { guest }, chunk }])
  const said = JSON.stringify(JSON.parse(body), (_, value) => (isPlain(value) ? sorted(value) : value))
  return `guest:${createHash('sha256').update(said).digest('base64url')}`
}

const isPlain = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const sorted = (value: object): object => Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))

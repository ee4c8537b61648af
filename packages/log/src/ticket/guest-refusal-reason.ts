// Why an entry of a guest is refused, decided on the ticket: the pending must be open, of this kind, and for this call.
// A refused entry never enters the log.

import { type Chunk, isGuestChunk } from '@millrace/protocol'
import { checkChunk } from '@millrace/protocol/internal'
import type { NewEntry } from '../store/entry.ts'
import { LogError } from '../store/log-error.ts'
import { chunkNameProblem } from './name-problem.ts'
import { noticeOf } from './notice.ts'
import { listFieldProblem } from './session-info.ts'
import { claimant, pendingKey, type Ticket, type TicketPending } from './ticket.ts'

/**
 * Why a guest's entry is refused:
 *
 * - `already-settled`: another entry was first.
 * - `late`: its deadline has passed. A client tool's result is not late until another entry settles the call.
 * - `unknown`: there is no such pending.
 * - `unapproved`: the call still waits for its approval.
 * - `claimed`: another client has claimed the call, or another process the notice.
 * - `ended`: there is no such run or request to stop.
 * - `busy`: a run is open or requested.
 * - `cut-waiting`: another rewind waits already.
 * - `gone`: the session cannot be rewound to that sequence.
 * - `full`: too many requests wait.
 * - `moved`: the ticket is not the one on which the entry was decided.
 */
export type GuestRefusalReason =
  | 'already-settled'
  | 'late'
  | 'unknown'
  | 'unapproved'
  | 'claimed'
  | 'ended'
  | 'busy'
  | 'cut-waiting'
  | 'gone'
  | 'full'
  | 'moved'

/** Maximum number of requests in a ticket. The number of pendings is limited where they are opened. */
const MAX_REQUESTS = 32
/** Maximum duration of a client's claim of a tool call, in ms. */
export const MAX_CLAIM_MS = 3_600_000
/** Maximum duration of a process's claim of a notice, in ms. */
const MAX_NOTICE_CLAIM_MS = 86_400_000

/**
 * Checks a guest's chunk without looking at the ticket.
 *
 * @throws LogError `invalid` or `too-large`.
 */
export function checkGuestChunk(chunk: Chunk): void {
  const problem = checkChunk(chunk)
  if (problem !== undefined) throw new LogError('invalid', `chunk${problem}`)
  if (!isGuestChunk(chunk.type))
    throw new LogError('invalid', `chunk ${chunk.type}: guests may not append this type: use a writer`)
  if (chunk.type === 'tool-output-available' && chunk.preliminary) {
    throw new LogError(
      'invalid',
      'chunk tool-output-available.preliminary: expected a final output from a guest, only the writer reports progress',
    )
  }
  if (chunk.type === 'run-notified' && !Number.isSafeInteger(chunk.until ?? 0)) {
    throw new LogError('invalid', `chunk run-notified.until: expected whole milliseconds, found ${chunk.until}`)
  }
  const invalidName = chunkNameProblem(chunk)
  if (invalidName !== undefined) throw new LogError('invalid', `chunk ${invalidName}`)
  if (chunk.type === 'run-requested' && chunk.message?.messageId.includes('::')) {
    throw new LogError(
      'invalid',
      'chunk run-requested.message.messageId: expected an id without `::`, which marks messages of agents',
    )
  }
  const tooLarge = listFieldProblem(chunk)
  if (tooLarge !== undefined) throw new LogError('too-large', `chunk ${tooLarge}`)
}

/** Why a guest's entry is refused on this ticket at this time, or undefined. */
export function guestRefusalReason(
  ticket: Ticket,
  { origin, chunk }: NewEntry,
  clock: number,
): GuestRefusalReason | undefined {
  switch (chunk.type) {
    case 'tool-approval-response': {
      const pending = findPending(ticket, 'approval', chunk.approvalId)
      if (pending && pending.toolCallId !== chunk.toolCallId) return 'unknown'
      return pendingRefusal(ticket, 'approval', chunk.approvalId, pending, clock)
    }
    case 'interrupt-response':
      return pendingRefusal(
        ticket,
        'interrupt',
        chunk.interruptId,
        findPending(ticket, 'interrupt', chunk.interruptId),
        clock,
      )
    case 'tool-output-available':
    case 'tool-output-error':
      // The work is done: its result counts until the deadline itself is settled.
      return clientToolRefusal(ticket, chunk.toolCallId, Number.NEGATIVE_INFINITY)
    case 'tool-claimed': {
      const refusal = clientToolRefusal(ticket, chunk.toolCallId, clock)
      if (refusal) return refusal
      const { claim } = findPending(ticket, 'client-tool', chunk.toolCallId) as TicketPending
      const isOwnClaim = claim?.by === claimant(origin, chunk.by)
      if (claim && !isOwnClaim && claim.until > clock) return 'claimed'
      return chunk.until <= clock || chunk.until > clock + MAX_CLAIM_MS ? 'late' : undefined
    }
    case 'stop-requested': {
      if (ticket.run?.runId === chunk.runId) {
        // An abort is accepted after an interrupt.
        return ticket.stop && (ticket.abort || chunk.mode !== 'abort') ? 'already-settled' : undefined
      }
      return ticket.requests.some(({ runId }) => runId === chunk.runId) ? undefined : 'ended'
    }
    case 'run-requested': {
      if (ticket.run?.runId === chunk.runId || ticket.ended.includes(chunk.runId)) return 'already-settled'
      const isBusy = ticket.run !== null || ticket.requests.length > 0
      if (chunk.cut && ticket.requests.some(({ cut }) => cut !== undefined)) return 'cut-waiting'
      if (isBusy && !chunk.cut && (chunk.whenBusy ?? 'reject') === 'reject') return 'busy'
      return ticket.requests.length >= MAX_REQUESTS ? 'full' : undefined
    }
    case 'run-notified': {
      const notice = noticeOf(ticket, chunk)
      if (notice === undefined) return 'already-settled'
      const { until } = chunk
      if (until === undefined) return undefined
      if (notice.notifyBy > clock) return 'claimed'
      return until <= clock || until > clock + MAX_NOTICE_CLAIM_MS ? 'late' : undefined
    }
    case 'session-info':
      // Title and metadata may change at any time.
      return undefined
    default:
      return 'unknown'
  }
}

const findPending = ({ pendings }: Ticket, kind: TicketPending['kind'], id: string): TicketPending | undefined =>
  pendings.find(pending => pending.kind === kind && pending.id === id)

function pendingRefusal(
  { settled }: Ticket,
  kind: TicketPending['kind'],
  id: string,
  pending: TicketPending | undefined,
  clock: number,
): GuestRefusalReason | undefined {
  if (pending === undefined) return settled.includes(pendingKey({ kind, id })) ? 'already-settled' : 'unknown'
  return pending.deadline !== undefined && pending.deadline <= clock ? 'late' : undefined
}

/** A result settles a client tool, never its approval. */
function clientToolRefusal(ticket: Ticket, toolCallId: string, clock: number): GuestRefusalReason | undefined {
  const pending = findPending(ticket, 'client-tool', toolCallId)
  const refusal = pendingRefusal(ticket, 'client-tool', toolCallId, pending, clock)
  if (refusal) return refusal
  const needsApproval = ticket.pendings.some(other => other.kind === 'approval' && other.toolCallId === toolCallId)
  return needsApproval ? 'unapproved' : undefined
}

/** The run and the lane that a guest's entry answers, if any. */
export function answeredLane(ticket: Ticket, chunk: Chunk): { runId?: string; lane?: string } {
  const runId = ticket.run?.runId
  const answered = ticket.pendings.find(({ id, kind }) => {
    if (chunk.type === 'tool-approval-response') return kind === 'approval' && id === chunk.approvalId
    if (chunk.type === 'interrupt-response') return kind === 'interrupt' && id === chunk.interruptId
    return kind === 'client-tool' && id === (chunk as { toolCallId?: string }).toolCallId
  })
  if (answered && runId !== undefined) return { runId, lane: answered.lane }
  return chunk.type === 'stop-requested' ? { runId: chunk.runId } : {}
}

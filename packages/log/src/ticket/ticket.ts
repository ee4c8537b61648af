// The ticket: what should happen next with a log. It is derived from the entries and stored with them; rebuilding it
// from the entries gives the same ticket (law 5). It contains no sequence and no timestamp, so the next ticket is
// known before the append.

import { type Chunk, isGuest, type PendingRef, type RunStatus, type WriterOrigin } from '@millrace/protocol'
import { MAIN_LANE } from '@millrace/protocol/internal'
import type { NewEntry } from '../store/entry.ts'
import type { Due, TicketRecord } from '../store/log-store.ts'
import { nameProblem } from './name-problem.ts'
import {
  firstNotice,
  noticeAndDeadlineProgram,
  noticeProgram,
  type TicketNotice,
  withNotice,
  withNotified,
} from './notice.ts'
import { requestText, type TicketSessionInfo, withPreviewLine, withSessionInfo } from './session-info.ts'

/** An answer or result that a lane waits for. */
export interface TicketPending {
  /** Kind of the question. */
  readonly kind: 'approval' | 'client-tool' | 'interrupt'
  /** Id of the question: the `approvalId`, `toolCallId` or `interruptId`. */
  readonly id: string
  /** For an approval or a client tool. */
  readonly toolCallId?: string
  /** The lane that waits. */
  readonly lane: string
  /** Id of the agent that asked. */
  readonly agentId: string
  /** By the store's clock, in ms. */
  readonly deadline?: number
  /** The client that claimed a client tool, and until when (ms, store's clock). */
  readonly claim?: { readonly by: string; readonly until: number }
}

/** A requested run that has not started yet. */
export interface TicketRequest {
  /** Id of the requested run. */
  readonly runId: string
  /** Program of the run, such as `agent:name@1`. */
  readonly program: string
  /** Cuts the session at this sequence before it begins, with the reason. */
  readonly cut?: { readonly toSequence: number; readonly reason: string }
  /** Whether it stops the open run. */
  readonly stops?: true
}

/** The open run of a ticket. */
export interface TicketRun {
  /** Id of the run. */
  readonly runId: string
  /** The agent or workflow at its version, as `agent:name@version`. */
  readonly program: string
  /** Whether its last pause has not been resumed. */
  readonly paused: boolean
  /** While it is paused: how it resumes. @default from its start, as `continue` */
  readonly resumption?: Partial<Omit<ResumedChunk, 'type'>>
}

type ResumedChunk = Extract<Chunk, { type: 'run-resumed' }>

/** The state of a log that decides about appends: open run, pendings, requests and stop. */
export interface Ticket {
  /** The open run. */
  readonly run: TicketRun | null
  /** Whether a lane of the open run can continue. */
  readonly ready: boolean
  /** Whether the open run was asked to stop. */
  readonly stop: boolean
  /** Whether it was asked to abort: it cannot be resumed. */
  readonly abort?: true
  /** The open questions of the open run. */
  readonly pendings: readonly TicketPending[]
  /** The last settled pendings, as `kind:id`, to distinguish a second answer from an unknown one. */
  readonly settled: readonly string[]
  /** Requested runs in the queue. */
  readonly requests: readonly TicketRequest[]
  /** Status of the last ended run. */
  readonly last: { readonly runId: string; readonly status: RunStatus } | null
  /** The last ended runs, which cannot start again (law 7). Requests are deduplicated for the life of the log. */
  readonly ended: readonly string[]
  /** How many discards and rewinds the log holds. */
  readonly cuts: number
  /** Pauses and ends of runs for which the notification of the observers is not confirmed. */
  readonly notices?: readonly TicketNotice[]
  /** Title and metadata of the log, if set. */
  readonly about?: TicketSessionInfo
  /** Preview line of the last text, of a request or a run. */
  readonly line?: string
}

/** The ticket of an empty log. */
export const EMPTY_TICKET: Ticket = {
  run: null,
  ready: false,
  stop: false,
  pendings: [],
  settled: [],
  requests: [],
  last: null,
  ended: [],
  cuts: 0,
}

/** Maximum number of settled pendings and of ended runs in a ticket. */
const MAX_SETTLED = 32
const MAX_ENDED = 64

/** The key of a pending in its ticket. */
export const pendingKey = ({ kind, id }: Pick<TicketPending, 'kind' | 'id'>): string => `${kind}:${id}`

/** The ticket after a batch. Returns the same object if the batch does not change it. */
export function advance(ticket: Ticket, batch: readonly NewEntry[]): Ticket {
  let next = ticket
  for (const entry of batch) next = advanceBy(next, entry)
  return next
}

function advanceBy(ticket: Ticket, { origin, chunk, internal }: NewEntry): Ticket {
  switch (chunk.type) {
    case 'run-requested': {
      const stops = chunk.whenBusy === 'interrupt-previous'
      const { runId, program, cut } = chunk
      const request = { runId, program, ...(cut && { cut }), ...(stops && { stops }) }
      return withPreviewLine({ ...ticket, requests: enqueue(ticket.requests, request) }, requestText(chunk))
    }
    case 'run-started': {
      const { runId } = origin
      if (runId === undefined) return ticket
      const requests = ticket.requests.filter(request => request.runId !== runId)
      const run = { runId, program: chunk.program, paused: false }
      return { ...withoutAbort(ticket), run, ready: true, stop: false, pendings: [], requests }
    }
    case 'stop-requested':
      if (ticket.run?.runId === chunk.runId) {
        return { ...ticket, stop: true, ...(chunk.mode === 'abort' && { abort: true }) }
      }
      return { ...ticket, requests: ticket.requests.filter(({ runId }) => runId !== chunk.runId) }
    case 'run-paused': {
      const { run } = ticket
      if (run === null) return ticket
      const { runId, program } = run
      const notice = { runId, program, status: 'paused', notifyBy: chunk.notifyBy } as const
      const paused = { runId, program, paused: true, ...resumptionAfter(chunk) }
      return withNotice(withPreviewLine({ ...ticket, run: paused, ready: false }, chunk.line), notice)
    }
    case 'run-resumed': {
      const { run } = ticket
      if (run === null) return ticket
      const { resumption, ...resumed } = run
      return { ...ticket, run: { ...resumed, paused: false }, ready: true }
    }
    case 'executor-superseded':
      // Changes nothing but the ticket's version: the batch of a new driver must fail if a stop was requested
      // meanwhile.
      return { ...ticket }
    case 'run-finished': {
      const { runId } = origin
      if (runId === undefined || ticket.run?.runId !== runId) return ticket
      const { status, notifyBy } = chunk
      const settled = remember(ticket.settled, ticket.pendings)
      const last = { runId, status }
      const ended = [...ticket.ended, runId].slice(-MAX_ENDED)
      const next = { ...withoutAbort(ticket), run: null, ready: false, stop: false, pendings: [], settled, last, ended }
      return withNotice(withPreviewLine(next, chunk.line), { runId, program: ticket.run.program, status, notifyBy })
    }
    case 'run-notified':
      return withNotified(ticket, chunk)
    case 'session-info':
      // Lists are public (law 10).
      return internal ? ticket : withSessionInfo(ticket, chunk)
    case 'step-discarded':
    case 'rewind':
      return { ...ticket, cuts: ticket.cuts + 1 }
    case 'tool-claimed': {
      const by = claimant(origin, chunk.by)
      const pendings = ticket.pendings.map(pending =>
        pending.kind === 'client-tool' && pending.id === chunk.toolCallId
          ? { ...pending, claim: { by, until: chunk.until } }
          : pending,
      )
      return { ...ticket, pendings }
    }
    case 'subagent-end':
      return settle(ticket, ({ agentId }) => agentId === chunk.agentId)
    default: {
      const opened = pendingOpenedBy(chunk)
      if (opened && !isGuest(origin)) {
        const { lane, agentId } = origin
        return { ...ticket, pendings: [...ticket.pendings, { ...opened, lane, agentId }] }
      }
      const settles = pendingsSettledBy(chunk)
      const next = settles ? settle(ticket, settles) : ticket
      return next !== ticket && chunk.type === 'tool-approval-response' ? withResumeMode(next, chunk.mode) : next
    }
  }
}

/** Resumption of a run after a pause: from its last checkpoint. */
function resumptionAfter({ checkpointId, stepCount }: Extract<Chunk, { type: 'run-paused' }>): Partial<TicketRun> {
  if (checkpointId === undefined) return {}
  return {
    resumption: { fromCheckpointId: checkpointId, ...(stepCount !== undefined && { fromStepCount: stepCount }) },
  }
}

/** The ticket of a paused run that an answer resumes in this mode. */
function withResumeMode(ticket: Ticket, mode: ResumedChunk['mode'] | undefined): Ticket {
  const { run } = ticket
  if (mode === undefined || !run?.paused) return ticket
  return { ...ticket, run: { ...run, resumption: { ...run.resumption, mode } } }
}

/** The entry with which a paused run resumes. */
export const resumedChunk = ({ resumption }: TicketRun): ResumedChunk => ({
  type: 'run-resumed',
  mode: 'continue',
  ...resumption,
})

const withoutAbort = ({ abort, ...ticket }: Ticket): Ticket => ticket

/** The identity of a claim: a guest may work in several places, distinguished by `by`. */
export const claimant = ({ guest }: NewEntry['origin'], by: string | undefined): string =>
  JSON.stringify([guest ?? '', by ?? ''])

/** Requests that stop the open run precede those that wait for it, each group in its own order. */
function enqueue(requests: readonly TicketRequest[], request: TicketRequest): TicketRequest[] {
  if (!isUrgent(request)) return [...requests, request]
  return [...requests.filter(isUrgent), request, ...requests.filter(other => !isUrgent(other))]
}

/** Whether a request stops the open run: it rewinds, or it asks for the stop. */
const isUrgent = ({ cut, stops }: TicketRequest): boolean => cut !== undefined || stops === true

/** The pending that a writer's chunk opens, if any. */
export function pendingOpenedBy(chunk: Chunk): Omit<TicketPending, 'lane' | 'agentId'> | undefined {
  switch (chunk.type) {
    case 'tool-approval-request':
      return { kind: 'approval', id: chunk.approvalId, toolCallId: chunk.toolCallId, ...deadlineOf(chunk) }
    case 'tool-input-available':
      if (chunk.executor !== 'client') return undefined
      return { kind: 'client-tool', id: chunk.toolCallId, toolCallId: chunk.toolCallId, ...deadlineOf(chunk) }
    case 'interrupt':
      return { kind: 'interrupt', id: chunk.interruptId, ...deadlineOf(chunk) }
    default:
      return undefined
  }
}

const deadlineOf = ({ deadline }: { deadline?: number }): { deadline?: number } =>
  deadline === undefined ? {} : { deadline }

/** A predicate for the pendings that a chunk settles, if it can settle any. */
function pendingsSettledBy(chunk: Chunk): ((pending: TicketPending) => boolean) | undefined {
  switch (chunk.type) {
    case 'tool-approval-response':
      // A denied call does not run, so it has no output to wait for.
      return ({ kind, id, toolCallId }) =>
        (kind === 'approval' && id === chunk.approvalId) ||
        (kind === 'client-tool' && toolCallId === chunk.toolCallId && !chunk.approved)
    case 'tool-output-available':
      return chunk.preliminary ? undefined : ({ toolCallId }) => toolCallId === chunk.toolCallId
    case 'tool-output-error':
    case 'tool-output-denied':
      return ({ toolCallId }) => toolCallId === chunk.toolCallId
    case 'interrupt-response':
      return ({ kind, id }) => kind === 'interrupt' && id === chunk.interruptId
    default:
      return undefined
  }
}

/** Removes pendings. A lane without pendings is ready to continue. */
function settle(ticket: Ticket, settles: (pending: TicketPending) => boolean): Ticket {
  const done = ticket.pendings.filter(settles)
  if (done.length === 0) return ticket
  const pendings = ticket.pendings.filter(pending => !settles(pending))
  const waits = (lane: TicketPending) => pendings.some(p => p.lane === lane.lane && p.agentId === lane.agentId)
  const ready = ticket.ready || done.some(pending => !waits(pending))
  return { ...ticket, pendings, ready, settled: remember(ticket.settled, done) }
}

function remember(settled: readonly string[], done: readonly TicketPending[]): readonly string[] {
  return done.length === 0 ? settled : [...settled, ...done.map(pendingKey)].slice(-MAX_SETTLED)
}

/** Whether the open run must end: it was asked to stop, or a request that stops it waits. */
export const mustStop = ({ run, stop, requests }: Ticket): boolean =>
  run !== null && (stop || (requests[0] !== undefined && isUrgent(requests[0])))

/** A checkpoint, as `run-paused` names it. */
export interface Checkpoint {
  /** Id of the checkpoint. */
  readonly checkpointId: string
  /** Number of steps up to it. @default unknown */
  readonly stepCount?: number
}

/** The `run-paused` for a run that waits for these pendings. */
export function pauseOf(
  pendings: readonly TicketPending[],
  { reason, checkpoint }: { readonly reason?: string | undefined; readonly checkpoint?: Checkpoint | undefined } = {},
): Extract<Chunk, { type: 'run-paused' }> {
  const awaits = pendings.map(({ lane, agentId, claim, ...awaited }) => awaited) as PendingRef[]
  // A pause is never refused (law 6): it names no checkpoint whose id is too long for a ticket.
  const isNamed = checkpoint && nameProblem('checkpointId', checkpoint.checkpointId) === undefined
  return { type: 'run-paused', ...(reason !== undefined && { reason }), awaits, ...(isNamed && checkpoint) }
}

/** The origin of a run's main lane, for entries that its driver does not write. The agent's name is that of the program. */
export function mainLaneOrigin(run: Pick<NonNullable<Ticket['run']>, 'runId' | 'program'> | null): WriterOrigin {
  const { runId = '', program = '' } = run ?? {}
  const agentType = /^\w+:(.*)@/.exec(program)?.[1] ?? ''
  return { runId, lane: MAIN_LANE, agentId: runId, agentType, step: 0 }
}

/** The status of a run that must stop: `interrupted` can be resumed, `aborted` cannot. */
export const stopStatus = ({ abort }: Ticket): 'interrupted' | 'aborted' => (abort ? 'aborted' : 'interrupted')

/** When the log needs a driver or a notification, and which program may do it. */
export function dueOf(ticket: Ticket): Due {
  const due = runDueOf(ticket)
  const notice = firstNotice(ticket)
  if (!notice || due.at === 'now' || (due.at !== null && due.at <= notice.notifyBy)) return due
  const { run, notices = [] } = ticket
  const programs = notices.map(({ program }) => program)
  // A notice that no process delivers must hide neither a run's deadline nor a notice of another program.
  if (run && due.at !== null) programs.push(run.program)
  const nameOf = due.at === null ? noticeProgram : noticeAndDeadlineProgram
  const [name, ...others] = new Set(programs.map(program => nameOf(program)))
  return { at: notice.notifyBy, program: name !== undefined && others.length === 0 ? name : nameOf() }
}

/** When a run of the log needs a driver, and which program may drive it. */
export function runDueOf(ticket: Ticket): Due {
  const { run, ready, pendings, requests } = ticket
  if (run === null) return requests[0] ? { at: 'now', program: requests[0].program } : { at: null, program: null }
  // Any driver may end a run, also without its program.
  if (mustStop(ticket)) return { at: 'now', program: null }
  if (ready) return { at: 'now', program: run.program }
  const deadlines = pendings.flatMap(({ deadline }) => deadline ?? [])
  return { at: deadlines.length > 0 ? Math.min(...deadlines) : null, program: run.program }
}

/** A ticket as a store keeps it. */
export const recordOf = (ticket: Ticket): TicketRecord => ({ state: JSON.stringify(ticket), due: dueOf(ticket) })

/** Parses the text of a ticket from a store. */
export const ticketOf = (state: string): Ticket => (state === '' ? EMPTY_TICKET : (JSON.parse(state) as Ticket))

/** Whether no run is open or requested. */
export const isAtRest = ({ run, requests }: Ticket): boolean => run === null && requests.length === 0

/** How long a notice that was not delivered keeps its log, in ms. Observers may be gone for good. */
const MAX_NOTICE_HOLD_MS = 86_400_000

/** Whether observers may still be notified of a run. */
export const hasNotices = ({ notices = [] }: Ticket, clock: number): boolean =>
  notices.some(({ notifyBy }) => notifyBy > clock - MAX_NOTICE_HOLD_MS)

/** The status of a log, which is that of its latest run. */
export type StreamStatus = 'active' | 'paused' | 'ended' | 'failed'

export function statusOf({ run, last }: Ticket): StreamStatus {
  if (run) return run.paused ? 'paused' : 'active'
  if (last === null) return 'active'
  return last.status === 'failed' ? 'failed' : 'ended'
}

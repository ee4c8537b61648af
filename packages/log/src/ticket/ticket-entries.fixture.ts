// Random entries that change tickets: in any order, and as a manager admits them.

import type { Chunk, Origin, WriterOrigin } from '@millrace/protocol'
import fc from 'fast-check'
import type { NewEntry } from '../store/entry.ts'
import { batchProblem } from './batch-problem.ts'
import { answeredLane, checkGuestChunk, guestRefusalReason } from './guest-refusal-reason.ts'
import { advance, EMPTY_TICKET, type Ticket } from './ticket.ts'

/** How many runs a property gets. `npm run chaos` multiplies them. */
export { multiplied as runs } from '../../../../scripts/faults/campaign.ts'

export const writerOf = (runId: string, lane = 'main', agentId = runId): WriterOrigin => {
  return { runId, lane, agentId, agentType: 'assistant', step: 1 }
}

export const entryBy = (origin: Origin, chunk: Chunk): NewEntry => ({ origin, chunk })

const runId = fc.constantFrom('r1', 'r2', 'r3', 'r4', 'r5', 'r6')
const toolCallId = fc.constantFrom('c1', 'c2')
const id = fc.constantFrom('1', '2', 'c1')
const deadline = fc.constantFrom(5, 50, 500)
const reason = fc.constant('because')
const program = fc.constantFrom('agent:a@1', 'agent:b@2')
const status = fc.constantFrom('completed', 'failed', 'interrupted', 'aborted')
const mode = fc.constantFrom('continue', 'with-message', 'with-confirmation', 'from-checkpoint')
const context = fc.constant({ tenant: 't' })
const line = fc.constantFrom('It is done.', 'May I?', '')
const text = fc.constantFrom('Go on.', ' Go \n on,  please. ', '', 'x'.repeat(200))
const message = text.map(words => ({ messageId: 'm', role: 'user', parts: [{ type: 'text', text: words }] }))

function row(type: string, model: Record<string, fc.Arbitrary<unknown>> = {}, optional: string[] = []) {
  const fields = fc.record(model, { requiredKeys: Object.keys(model).filter(key => !optional.includes(key)) })
  return fields.map(values => ({ type, ...values }) as Chunk)
}

const GUESTS = [
  row(
    'run-requested',
    {
      runId,
      program,
      whenBusy: fc.constantFrom('queue', 'queue', 'interrupt-previous', 'reject'),
      cut: fc.record({ toSequence: fc.nat(9), reason }),
      resume: fc.record({ runId, mode }),
      message,
    },
    ['whenBusy', 'cut', 'resume', 'message'],
  ),
  row('stop-requested', { runId, mode: fc.constantFrom('interrupt', 'abort') }, ['mode']),
  row('tool-approval-response', { toolCallId, approvalId: id, approved: fc.boolean(), mode }, ['mode']),
  row('interrupt-response', { interruptId: id, response: fc.constant(1) }),
  row('tool-output-available', { toolCallId, output: fc.constant(1) }),
  row('tool-output-error', { toolCallId, errorText: reason }),
  row('tool-claimed', { toolCallId, until: fc.constantFrom(20, 200), by: fc.constantFrom('tab1', 'tab2') }, ['by']),
  row('run-notified', { runId, notifyBy: deadline, until: fc.constantFrom(30, 80, 800) }, ['until']),
  row(
    'session-info',
    { title: fc.constantFrom('A walk', 'A talk', ''), metadata: fc.constantFrom({ a: 1 }, { b: [] }) },
    ['title', 'metadata'],
  ),
]

const WRITERS = [
  row('run-started', { program, resumes: runId }, ['resumes']),
  row('run-finished', { status, notifyBy: deadline, line }, ['notifyBy', 'line']),
  row('run-paused', { awaits: fc.constant([]), checkpointId: id, stepCount: fc.nat(3), notifyBy: deadline, line }, [
    'checkpointId',
    'stepCount',
    'notifyBy',
    'line',
  ]),
  row('run-resumed', { mode }),
  row('run-context', { context }),
  row('executor-superseded'),
  row('rewind', { toSequence: fc.nat(9), reason }),
  row('step-discarded', { reason }),
  row('checkpoint-created', { checkpointId: id }),
  row('text-delta', { id, delta: reason }),
  row('tool-approval-request', { toolCallId, approvalId: id, input: fc.constant(1), deadline }, ['deadline']),
  row(
    'tool-input-available',
    {
      toolCallId,
      toolName: reason,
      input: fc.constant(1),
      executor: fc.constantFrom('client', 'client', 'server'),
      deadline,
    },
    ['deadline', 'executor'],
  ),
  row('tool-output-denied', { toolCallId }),
  row('tool-output-available', { toolCallId, output: fc.constant(1), preliminary: fc.boolean() }, ['preliminary']),
  row('interrupt', { interruptId: id, input: fc.constant({ kind: 'text' }), deadline }, ['deadline']),
  row('subagent-end', { agentId: fc.constant('sub'), agentType: reason, toolCallId, status }),
  row('from-the-future', { runId }),
]

const origins = fc.oneof(
  runId.map(run => writerOf(run)),
  runId.map(run => writerOf(run, 'tool')),
  runId.map(run => writerOf(run, 'child', 'sub')),
)

const guests = fc.constantFrom('ada', 'bob')
const writersEntry = fc.tuple(origins, fc.oneof(...WRITERS)).map(([origin, chunk]): NewEntry => ({ origin, chunk }))
const guestsEntry = fc
  .tuple(guests, fc.oneof(...GUESTS))
  .map(([guest, chunk]): NewEntry => ({ origin: { guest }, chunk }))

/** Valid entries in any order, whether or not a guest may append them. */
export const anyEntries: fc.Arbitrary<NewEntry[]> = fc.array(
  fc.oneof(
    writersEntry,
    guestsEntry,
    fc.tuple(origins, fc.oneof(...GUESTS)).map(([origin, chunk]): NewEntry => ({ origin, chunk })),
    fc.tuple(guests, fc.oneof(...WRITERS)).map(([guest, chunk]): NewEntry => ({ origin: { guest }, chunk })),
  ),
  { maxLength: 60, size: 'max' },
)

/** An entry that a caller tries to append at a time. */
export interface AppendAttempt {
  readonly entry: NewEntry
  readonly at: number
}

/** Attempts that are mostly about one open run, so that many are admitted. */
export const appendAttempts: fc.Arbitrary<AppendAttempt[]> = fc.array(
  fc
    .tuple(fc.oneof({ weight: 2, arbitrary: writersEntry }, { weight: 1, arbitrary: guestsEntry }), fc.nat(100))
    .map(([entry, at]): AppendAttempt => ({ entry, at })),
  { maxLength: 150, size: 'max' },
)

/** The attempts that a manager admits, entry by entry, and the ticket after each. Writers write for the open run. */
export function admittedEntries(attempts: readonly AppendAttempt[]): { entries: NewEntry[]; tickets: Ticket[] } {
  let ticket = EMPTY_TICKET
  const entries: NewEntry[] = []
  const tickets: Ticket[] = []
  // A request is identified by its run for the life of the log, and is never appended twice.
  const requested = new Set<string>()
  for (const { entry, at } of attempts) {
    if (entry.chunk.type === 'run-requested' && requested.has(entry.chunk.runId)) continue
    const validEntry =
      entry.origin.guest === undefined ? forOpenRun(ticket, entry) : placed(ticket, aimed(ticket, entry, at))
    if (!isAdmitted(ticket, validEntry, at)) continue
    ticket = advance(ticket, [validEntry])
    entries.push(validEntry)
    tickets.push(ticket)
    if (validEntry.chunk.type !== 'run-requested') continue
    requested.add(validEntry.chunk.runId)
    if (at % 2 === 0) continue
    // The internal context that the server appends with a request.
    const contextEntry: NewEntry = {
      origin: validEntry.origin,
      chunk: { type: 'run-context', context: at },
      internal: true,
    }
    ticket = advance(ticket, [contextEntry])
    entries.push(contextEntry)
    tickets.push(ticket)
  }
  return { entries, tickets }
}

function forOpenRun({ run }: Ticket, { origin, chunk }: NewEntry): NewEntry {
  if (run === null || chunk.type === 'run-started') return { origin, chunk }
  const { lane, agentId, runId } = origin as WriterOrigin
  return { origin: writerOf(run.runId, lane, agentId === runId ? run.runId : agentId), chunk }
}

/** Aims some stops at the open run, and some notifications at open notices, so that not all of them miss. */
function aimed({ run, notices = [] }: Ticket, { origin, chunk }: NewEntry, at: number): NewEntry {
  const notice = notices[at % notices.length]
  if (notice && chunk.type === 'run-notified' && at % 8 > 1) {
    return { origin, chunk: { ...chunk, runId: notice.runId, notifyBy: notice.notifyBy } }
  }
  const isAimed = run !== null && chunk.type === 'stop-requested' && at % 8 > 1
  return { origin, chunk: isAimed ? { ...chunk, runId: run.runId } : chunk }
}

function placed(ticket: Ticket, { origin, chunk }: NewEntry): NewEntry {
  return { origin: { guest: origin.guest as string, ...answeredLane(ticket, chunk) }, chunk }
}

function isAdmitted(ticket: Ticket, entry: NewEntry, at: number): boolean {
  // A rewind must precede a run-started in the same batch.
  if (entry.chunk.type === 'rewind') return false
  if (entry.origin.guest === undefined) return batchProblem(ticket, [entry]) === undefined
  checkGuestChunk(entry.chunk)
  return guestRefusalReason(ticket, entry, at) === undefined
}

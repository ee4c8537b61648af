// Checks a race: each pending has one winner, all others were rejected, the view matches the log, and nothing ran
// without approval.

import type { NewEntry, Ticket } from '@millrace/log'
import { advance, EMPTY_TICKET, mustStop, pendingKey, stopStatus } from '@millrace/log/internal'
import { type Chunk, type Entry, isGuest, type ToolPart, type View } from '@millrace/protocol'
import type { GuestAction, Plan } from './race-plan.fixture.ts'
import { hasClientResult, NEXT, needsApproval, RUN, waitingCallsOf } from './waiting-program.fixture.ts'

/** The result of a guest's action. */
export interface ActionResult {
  readonly guest: string
  readonly action: GuestAction
  readonly toolCallId: string
  /** Its result; undefined if its process died before. */
  readonly outcome: string | undefined
  readonly sequence: number | undefined
  /** Head of the log at its start. */
  readonly head: number
  /** Head and time at its result. */
  readonly until: { readonly head: number; readonly at: number }
}

export interface RaceRecord {
  readonly plan: Plan
  readonly entries: readonly Entry[]
  readonly view: View
  readonly ticket: Ticket
  readonly results: readonly ActionResult[]
  readonly operations: readonly ToolOperation[]
}

/** An operation of a tool, with the lower and upper bound of the log's head. */
export interface ToolOperation {
  readonly process: string
  readonly toolCallId: string
  readonly phase: 'start' | 'end'
  readonly minHead: number
  readonly maxHead: number
}

/** A pending from its opening entry to its settling entry. */
interface PendingSpan {
  readonly key: string
  readonly opened: Entry
  readonly deadline: number | undefined
  /** The event that settled it: an answer, a deadline or the end of its run. */
  settled: Entry | undefined
}

/** All problems; empty if everything is correct. */
export function verdict(record: RaceRecord): string[] {
  const { problems, spans } = history(record)
  return [
    ...problems,
    ...resultProblems(record, spans),
    ...executionProblems(record),
    ...viewProblems(record),
    ...statusProblems(record),
  ]
}

const keysOf = ({ pendings }: Ticket): string[] => pendings.map(pendingKey)

/** Replays the ticket from the entries alone. */
function history({ entries, ticket }: RaceRecord): { problems: string[]; spans: Map<string, PendingSpan> } {
  const problems: string[] = []
  const spans = new Map<string, PendingSpan>()
  const answered = new Set<string>()
  let current: Ticket = EMPTY_TICKET
  for (const entry of entries) {
    const { chunk, origin, sequence, timestamp } = entry
    const addProblem = (problem: string) => problems.push(`entry ${sequence}, ${chunk.type}: ${problem}`)
    const next = advance(current, [entry as NewEntry])
    for (const { kind, id, deadline } of next.pendings) {
      const key = pendingKey({ kind, id })
      if (keysOf(current).includes(key)) continue
      if (spans.has(key)) addProblem(`${key} is requested again`)
      spans.set(key, { key, opened: entry, deadline, settled: undefined })
    }
    for (const key of keysOf(current)) {
      const span = spans.get(key)
      if (span && !keysOf(next).includes(key)) span.settled = entry
    }
    const settles = settledKey(chunk)
    const isByGuest = isGuest(origin)
    if (settles !== undefined && (spans.has(settles) || isByGuest) && !keysOf(current).includes(settles)) {
      if (chunk.type !== 'tool-output-denied') addProblem(`${settles} is settled again`)
    }
    const { deadline } = spans.get(settles ?? '') ?? {}
    if (settles !== undefined && spans.has(settles) && isTimeout(chunk) && !((deadline ?? Infinity) <= timestamp)) {
      addProblem(`it times out at ${timestamp}, its deadline is ${deadline}`)
    }
    if (chunk.type === 'tool-approval-response') answered.add(chunk.toolCallId)
    if (/^tool-output/.test(chunk.type)) answered.delete((chunk as { toolCallId: string }).toolCallId)
    if (chunk.type === 'run-paused') {
      const open = keysOf(current)
      const announced = chunk.awaits.flatMap(({ kind, id }) => (kind === 'children' ? [] : `${kind}:${id}`))
      if (open.length === 0) addProblem('nothing is pending')
      if (announced.join() !== open.join()) addProblem(`it lists ${announced}, but the pendings are ${open}`)
      for (const toolCallId of answered) {
        if (!open.includes(`client-tool:${toolCallId}`)) addProblem(`${toolCallId} was answered and can continue`)
      }
      if (mustStop(current)) addProblem('a stop was requested')
    }
    if (chunk.type === 'run-finished') {
      const expected = mustStop(current) ? stopStatus(current) : 'completed'
      if (chunk.status !== expected) addProblem(`it ends as ${chunk.status}, expected ${expected}`)
      answered.clear()
    }
    current = next
  }
  if (JSON.stringify(current) !== JSON.stringify(ticket)) {
    problems.push(`the ticket is ${JSON.stringify(ticket)}, its entries give ${JSON.stringify(current)}`)
  }
  return { problems, spans }
}

/** The pending that a chunk answers. */
function settledKey(chunk: Chunk): string | undefined {
  if (chunk.type === 'tool-approval-response') return `approval:${chunk.approvalId}`
  const isOutcome = chunk.type === 'tool-output-available' ? !chunk.preliminary : /^tool-output-/.test(chunk.type)
  return isOutcome ? `client-tool:${(chunk as { toolCallId: string }).toolCallId}` : undefined
}

const isTimeout = (chunk: Chunk): boolean =>
  (chunk.type === 'tool-approval-response' && chunk.isAutomatic === true) ||
  (chunk.type === 'tool-output-error' && chunk.code === 'client_tool_timeout')

/** Checks that each reported winner won, and that all others got a reason. */
function resultProblems({ results, entries, plan }: RaceRecord, spans: ReadonlyMap<string, PendingSpan>): string[] {
  const problems: string[] = []
  const ended = entries.find(({ chunk, origin }) => chunk.type === 'run-finished' && origin.runId === RUN)
  for (const { guest, action, toolCallId, outcome, sequence, head, until } of results) {
    if (outcome === undefined || outcome === 'store_unavailable') continue
    const addProblem = (problem: string) =>
      problems.push(`${guest}, ${action.verb} ${toolCallId}: ${outcome}: ${problem}`)
    if (action.verb === 'stop' || action.verb === 'abort' || action.verb === 'undo' || action.verb === 'interrupt') {
      const isInLog = entries.some(({ origin }) => origin.guest === guest)
      if ((outcome === 'accepted') !== isInLog) addProblem(isInLog ? 'it is in the log' : 'it is not in the log')
      if (!STOP_OUTCOMES.has(outcome)) addProblem('unexpected outcome')
      continue
    }
    const key = action.isResult ? `client-tool:${toolCallId}` : `approval:${RUN}::${toolCallId}`
    const span = spans.get(key)
    const guestEntries = entries.filter(({ origin }) => origin.guest === guest)
    if (outcome === 'accepted') {
      if (guestEntries.length !== 1) addProblem(`it is in the log ${guestEntries.length} times`)
      if (action.verb !== 'claim' && (guestEntries[0] !== span?.settled || guestEntries[0]?.sequence !== sequence)) {
        addProblem(`it is at ${sequence}, but ${key} was settled at ${span?.settled?.sequence}`)
      }
      continue
    }
    if (guestEntries.length > 0) addProblem(`it is in the log at ${guestEntries[0]?.sequence}`)
    const { opened, settled, deadline = Infinity } = span ?? {}
    switch (outcome) {
      case 'answer_already_settled':
        // A pending that was never open is closed by the end of its run.
        if (((settled ?? (opened ? undefined : ended))?.sequence ?? Infinity) > until.head)
          addProblem('nothing has settled it')
        break
      case 'answer_late':
        if (!(deadline <= until.at)) addProblem(`its deadline is ${deadline}, and it was ${until.at}`)
        if (settled && settled.sequence <= head) addProblem('it was settled before')
        break
      case 'answer_unknown':
        if (opened && opened.sequence <= head) addProblem('it was open')
        break
      case 'answer_unapproved':
        if (!action.isResult || plan.kind !== 'approved-client') addProblem('there is nothing to approve')
        break
      case 'answer_claimed':
        if (action.verb !== 'claim') addProblem('an answer needs no claim')
        break
      default:
        addProblem('unexpected outcome')
    }
  }
  return problems
}

const STOP_OUTCOMES = new Set(['accepted', 'ended', 'run_unknown'])

/** Checks that a tool ran only after approval, and once unless its process was lost. */
function executionProblems({ operations, entries, plan }: RaceRecord): string[] {
  const problems: string[] = []
  // A stop that is withdrawn has also aborted the work in flight.
  const undone = entries.filter(({ chunk }) => chunk.type === 'stop-requested' && chunk.runId === NEXT).length
  const lost = undone + plan.faults.filter(([, fault]) => fault !== 'rival' && fault !== 'leave').length
  const find = (toolCallId: string, is: (chunk: Chunk) => boolean) =>
    entries.find(({ chunk }) => (chunk as { toolCallId?: string }).toolCallId === toolCallId && is(chunk))
  const isOutput = ({ type }: Chunk) => type === 'tool-output-available'
  const expectedPendings = hasClientResult(plan.kind) ? [] : waitingCallsOf(plan.kind)
  for (const toolCallId of [...expectedPendings, ...(plan.kind === 'pair' ? ['look'] : [])]) {
    const starts = operations.filter(operation => operation.toolCallId === toolCallId && operation.phase === 'start')
    const addProblem = (problem: string) => problems.push(`${toolCallId} ran ${starts.length} times: ${problem}`)
    const response = find(toolCallId, ({ type }) => type === 'tool-approval-response')
    const approved = response && (response.chunk as { approved: boolean }).approved ? response : undefined
    const outcome = find(toolCallId, ({ type }) => /^tool-output/.test(type) && type !== 'tool-output-denied')
    if (starts.length > 1 + lost) addProblem(`${lost} were lost`)
    if (
      find(toolCallId, isOutput) &&
      !operations.some(operation => operation.toolCallId === toolCallId && operation.phase === 'end')
    ) {
      addProblem('but it has an output')
    }
    for (const { minHead, maxHead, process } of starts) {
      if (toolCallId !== 'look' && !(approved && approved.sequence <= maxHead)) addProblem(`${process} had no approval`)
      if (outcome && outcome.sequence <= minHead) addProblem(`${process} started it after its outcome`)
    }
    if (approved && find(toolCallId, ({ type }) => type === 'tool-output-denied')) addProblem('but it is denied')
  }
  return problems
}

/** Checks that the view matches the log. */
function viewProblems({ view, entries, ticket, plan }: RaceRecord): string[] {
  const problems: string[] = []
  const shown = view.pendings.map(pendingKey as (pending: { kind: string; id: string }) => string)
  if (shown.toSorted().join() !== keysOf(ticket).toSorted().join()) {
    problems.push(`the view shows ${shown} as open, the ticket ${keysOf(ticket)}`)
  }
  const parts = view.messages.flatMap(({ parts }) => parts.filter((part): part is ToolPart => 'toolCallId' in part))
  for (const toolCallId of waitingCallsOf(plan.kind)) {
    const callEntries = entries.filter(({ chunk }) => (chunk as { toolCallId?: string }).toolCallId === toolCallId)
    const part = parts.find(other => other.toolCallId === toolCallId)
    const expected = expectedOf(callEntries.map(({ chunk }) => chunk))
    if (part === undefined) {
      // Uncommitted content of a stopped run may be visible or not.
      if (expected !== undefined) problems.push(`the view does not show ${toolCallId}`)
      continue
    }
    const { state, code, output, approval } = part as ToolPart & { code?: string }
    const found = { state, code, output, approved: approval?.approved, reason: approval?.reason }
    for (const [field, value] of Object.entries(expected ?? {})) {
      const other = found[field as keyof typeof found]
      if (JSON.stringify(other) !== JSON.stringify(value)) {
        problems.push(
          `the view shows ${toolCallId} with ${field} ${JSON.stringify(other)}, expected ${JSON.stringify(value)}`,
        )
      }
    }
  }
  return problems
}

/** The outcome of a call by its entries. */
function expectedOf(chunks: readonly Chunk[]): Record<string, unknown> | undefined {
  if (!chunks.some(({ type }) => type === 'tool-input-available')) return undefined
  const response = chunks.find(chunk => chunk.type === 'tool-approval-response')
  const outcome = chunks.find(
    chunk => /^tool-output/.test(chunk.type) && !('preliminary' in chunk && chunk.preliminary),
  )
  const answered = response && {
    approved: response.approved,
    ...(response.reason !== undefined && { reason: response.reason }),
  }
  switch (outcome?.type) {
    case 'tool-output-available':
      return { ...answered, state: 'output-available', output: outcome.output }
    case 'tool-output-error':
      return { ...answered, state: 'output-error', code: outcome.code }
    case 'tool-output-denied':
      return { ...answered, state: 'output-denied' }
    default:
      // All runs have ended, so nothing is open.
      return { ...answered, state: 'output-error', code: 'interrupted' }
  }
}

/** Checks that runs ended as planned, once each. */
function statusProblems({ view, entries, results, plan }: RaceRecord): string[] {
  const problems: string[] = []
  for (const runId of [RUN, NEXT]) {
    const ends = entries.filter(({ chunk, origin }) => chunk.type === 'run-finished' && origin.runId === runId)
    const starts = entries.filter(({ chunk, origin }) => chunk.type === 'run-started' && origin.runId === runId)
    const status = view.runs.find(run => run.runId === runId)?.status
    if (ends.length !== starts.length || ends.length > 1) {
      problems.push(`run ${runId} starts ${starts.length} times and ends ${ends.length} times`)
    }
    if (status !== (ends[0]?.chunk as { status?: string } | undefined)?.status) {
      problems.push(`the view shows run ${runId} as ${status}`)
    }
  }
  const isStopAccepted = results.some(({ action, outcome }) => action.verb === 'stop' && outcome === 'accepted')
  const status = view.runs.find(run => run.runId === RUN)?.status
  if (isStopAccepted && status === 'completed') problems.push('a stop was accepted, but it completed')
  if (needsApproval(plan.kind) && view.pendings.length > 0) problems.push('a pending is open after the end')
  return problems
}

// Checks that nothing ran without approval, that each answer counted once, and that no run waited that could continue.

import { type Entry, Fold, isGuest, type Json, type ToolPart, type View } from '@millrace/protocol'
import { keyOf } from '../../session/key.ts'
import { ROGUE, type SubmittedAnswer } from './answering-clients.fixture.ts'
import { APPROVALS, APPROVALS_RUN } from './approvals-program.fixture.ts'
import type { Line } from './ledger.fixture.ts'
import { SESSION } from './tools-program.fixture.ts'

/** The approval of one call in the log. */
interface ApprovalInLog {
  readonly at: number
  readonly input: Json
  response?: { readonly at: number; readonly approved: boolean }
}

/** Checks that a call that needs approval ran only after it, with the shown input, and never after a denial. */
export function consentProblems({
  entries,
  lines,
}: {
  readonly entries: readonly Entry[]
  readonly lines: readonly Line[]
}): string[] {
  const problems: string[] = []
  const approvals = approvalsInLog(entries, problems)
  const allowed = new Set<string>()
  for (const line of lines) {
    if (line.kind === 'consent' && line.approved) allowed.add(line.toolCallId)
    if (line.kind !== 'tool' || line.phase !== 'start') continue
    for (const [toolCallId, { by, approved, input }] of Object.entries(APPROVALS)) {
      if (line.key !== keyOf(SESSION, APPROVALS_RUN, toolCallId)) continue
      const addProblem = (problem: string) => problems.push(`${line.process} runs ${toolCallId}: ${problem}`)
      const { response, input: shown } = approvals.get(toolCallId) ?? {}
      if (!approved) addProblem('expected a denial')
      if (!response?.approved) addProblem('the log has no approval')
      if (by === 'person' && !allowed.has(toolCallId)) addProblem('no client had approved it')
      if (line.input !== JSON.stringify(input)) addProblem(`with ${line.input}, asked for ${JSON.stringify(input)}`)
      if (line.input !== JSON.stringify(shown)) addProblem(`with ${line.input}, shown was ${JSON.stringify(shown)}`)
    }
  }
  return problems
}

/** The requests and their answers, each once. */
function approvalsInLog(entries: readonly Entry[], problems: string[]): ReadonlyMap<string, ApprovalInLog> {
  const approvals = new Map<string, ApprovalInLog>()
  for (const { sequence, chunk, origin } of entries) {
    const addProblem = (problem: string) => problems.push(`entry ${sequence}, ${chunk.type}: ${problem}`)
    if (chunk.type === 'tool-approval-request') {
      if (approvals.has(chunk.toolCallId)) addProblem(`${chunk.toolCallId} was already requested`)
      approvals.set(chunk.toolCallId, { at: sequence, input: chunk.input })
    } else if (chunk.type === 'tool-approval-response') {
      const approval = approvals.get(chunk.toolCallId)
      const { by } = APPROVALS[chunk.toolCallId] ?? {}
      if (approval === undefined) addProblem(`${chunk.toolCallId} was not requested`)
      else if (approval.response) addProblem(`${chunk.toolCallId} was answered at ${approval.response.at}`)
      else approval.response = { at: sequence, approved: chunk.approved }
      if (isGuest(origin) !== (by === 'person')) addProblem(`${chunk.toolCallId} was answered by the wrong side`)
    } else if (chunk.type === 'tool-output-denied') {
      const approval = approvals.get(chunk.toolCallId)
      if (approval?.response?.approved !== false) addProblem(`${chunk.toolCallId} was not denied`)
    } else if (chunk.type === 'tool-output-available' && !chunk.preliminary && chunk.toolCallId in APPROVALS) {
      if (!approvals.get(chunk.toolCallId)?.response?.approved) addProblem(`${chunk.toolCallId} was not approved`)
    }
  }
  return approvals
}

const ANSWERS: ReadonlySet<string> = new Set([
  'tool-approval-response',
  'tool-output-available',
  'tool-output-error',
  'interrupt-response',
])

/** Checks that the log has each accepted answer at its reported sequence, and no rejected one. */
export function answerProblems(
  entries: readonly Entry[],
  submitted: readonly SubmittedAnswer[],
  isStopped: boolean,
): string[] {
  const problems: string[] = []
  const accepted = new Set(submitted.flatMap(({ sequence }) => sequence ?? []))
  for (const { sequence, chunk, origin } of entries) {
    if (!isGuest(origin)) continue
    if (origin.guest === ROGUE) problems.push(`entry ${sequence}, ${JSON.stringify(chunk)}: expected a refusal`)
    if (ANSWERS.has(chunk.type) && !accepted.delete(sequence))
      problems.push(`entry ${sequence}: no client submitted it`)
  }
  for (const sequence of accepted) problems.push(`the accepted answer at ${sequence} is missing`)
  if (isStopped) return problems
  for (const { description, guest, code } of submitted) {
    if (guest !== ROGUE && code === 'answer_already_settled')
      problems.push(`${description} was rejected as already settled`)
  }
  return problems
}

/** Checks that each pause lists all pendings and that nothing could continue. */
export function pauseProblems(entries: readonly Entry[]): string[] {
  const problems: string[] = []
  const fold = new Fold()
  let from = 0
  for (const [index, { sequence, chunk }] of entries.entries()) {
    if (chunk.type !== 'run-paused') continue
    fold.apply(entries.slice(from, index))
    from = index
    const view = fold.view()
    const isAsked = (call?: string) => chunk.awaits.some(wait => wait.kind === 'approval' && wait.toolCallId === call)
    // A client call that needs approval waits for the approval first, then for its result.
    const first = chunk.awaits.filter(
      wait => wait.kind === 'approval' || (wait.kind === 'client-tool' && !isAsked(wait.id)),
    )
    const awaited = first.map(({ kind, id }) => `${kind} ${id}`)
    const open = view.pendings.map(({ kind, id }) => `${kind} ${id}`)
    if (awaited.sort().join() !== open.sort().join()) {
      problems.push(`entry ${sequence}: the pause lists ${awaited.join()}, but the pendings are ${open.join()}`)
    }
    for (const work of workThatCouldContinue(view))
      problems.push(`entry ${sequence}: the run pauses, but ${work} can continue`)
  }
  return problems
}

/** Work that could continue: open calls without a pending, and agents without an open call. */
function workThatCouldContinue({ messages, runs, agents, pendings, drafts }: View): string[] {
  const open = runs.at(-1)?.runId
  const work: string[] = drafts.map(draft => `a draft ${JSON.stringify(draft)}`)
  const waiting = new Set(pendings.flatMap(pending => ('part' in pending ? [pending.part.toolCallId] : [])))
  const working = new Map(
    agents.filter(({ status }) => status === undefined).map(agent => [agent.toolCallId, agent.agentId]),
  )
  for (const { runId, agentId, parts } of messages) {
    if (runId !== open || agentId === undefined) continue
    if (agentId !== runId && ![...working.values()].includes(agentId)) continue
    const calls = parts.filter((part): part is ToolPart => 'toolCallId' in part && !part.state.startsWith('output'))
    if (calls.length === 0) work.push(`agent ${agentId}`)
    for (const { toolCallId } of calls) {
      if (!waiting.has(toolCallId) && !working.has(toolCallId)) work.push(`call ${toolCallId}`)
    }
  }
  return work
}

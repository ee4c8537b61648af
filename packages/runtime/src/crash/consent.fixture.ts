// That nothing ran which nobody had allowed, that what was answered counted once, and that nobody waited who could go on.

import { type Entry, Fold, isGuest, type Json, type ToolPart, type View } from '@millrace/protocol'
import { keyOf } from '../session/key.ts'
import { type Given, ROGUE } from './crowd.fixture.ts'
import type { Line } from './ledger.fixture.ts'
import { APPROVALS, PEOPLE_RUN } from './mill-program.fixture.ts'
import { SESSION } from './pond-program.fixture.ts'

/** What the log says of the approval of one call. */
interface Asked {
  readonly at: number
  readonly input: Json
  response?: { readonly at: number; readonly approved: boolean }
}

/** That a call that needs approval ran only after it was given, with the input that was shown, and never where it was denied. */
export function consentProblems({
  entries,
  lines,
}: {
  readonly entries: readonly Entry[]
  readonly lines: readonly Line[]
}): string[] {
  const problems: string[] = []
  const asked = askedOf(entries, problems)
  const allowed = new Set<string>()
  for (const line of lines) {
    if (line.kind === 'consent' && line.approved) allowed.add(line.toolCallId)
    if (line.kind !== 'tool' || line.phase !== 'start') continue
    for (const [toolCallId, { by, approved, input }] of Object.entries(APPROVALS)) {
      if (line.key !== keyOf(SESSION, PEOPLE_RUN, toolCallId)) continue
      const say = (problem: string) => problems.push(`${line.process} runs ${toolCallId}: ${problem}`)
      const { response, input: shown } = asked.get(toolCallId) ?? {}
      if (!approved) say('it was to be denied')
      if (!response?.approved) say('the log has no approval of it')
      if (by === 'person' && !allowed.has(toolCallId)) say('nobody had approved it by then')
      if (line.input !== JSON.stringify(input)) say(`with ${line.input}, asked for ${JSON.stringify(input)}`)
      if (line.input !== JSON.stringify(shown)) say(`with ${line.input}, shown was ${JSON.stringify(shown)}`)
    }
  }
  return problems
}

/** Who was asked, and what was answered, each once. */
function askedOf(entries: readonly Entry[], problems: string[]): ReadonlyMap<string, Asked> {
  const asked = new Map<string, Asked>()
  for (const { sequence, chunk, origin } of entries) {
    const say = (problem: string) => problems.push(`entry ${sequence}, ${chunk.type}: ${problem}`)
    if (chunk.type === 'tool-approval-request') {
      if (asked.has(chunk.toolCallId)) say(`${chunk.toolCallId} was asked for before`)
      asked.set(chunk.toolCallId, { at: sequence, input: chunk.input })
    } else if (chunk.type === 'tool-approval-response') {
      const own = asked.get(chunk.toolCallId)
      const { by } = APPROVALS[chunk.toolCallId] ?? {}
      if (own === undefined) say(`nobody asked for ${chunk.toolCallId}`)
      else if (own.response) say(`${chunk.toolCallId} was answered at ${own.response.at}`)
      else own.response = { at: sequence, approved: chunk.approved }
      if (isGuest(origin) !== (by === 'person')) say(`${chunk.toolCallId} was not theirs to decide`)
    } else if (chunk.type === 'tool-output-denied') {
      const own = asked.get(chunk.toolCallId)
      if (own?.response?.approved !== false) say(`nobody denied ${chunk.toolCallId}`)
    } else if (chunk.type === 'tool-output-available' && !chunk.preliminary && chunk.toolCallId in APPROVALS) {
      if (!asked.get(chunk.toolCallId)?.response?.approved) say(`nobody approved ${chunk.toolCallId}`)
    }
  }
  return asked
}

const ANSWERS: ReadonlySet<string> = new Set([
  'tool-approval-response',
  'tool-output-available',
  'tool-output-error',
  'interrupt-response',
])

/** That the log has each answer that was taken, where its giver was told that it is, and nothing that was refused. */
export function answerProblems(entries: readonly Entry[], given: readonly Given[], isStopped: boolean): string[] {
  const problems: string[] = []
  const told = new Set(given.flatMap(({ sequence }) => sequence ?? []))
  for (const { sequence, chunk, origin } of entries) {
    if (!isGuest(origin)) continue
    if (origin.guest === ROGUE)
      problems.push(`entry ${sequence}, ${JSON.stringify(chunk)}: it should have been refused`)
    if (ANSWERS.has(chunk.type) && !told.delete(sequence)) problems.push(`entry ${sequence}: nobody said it`)
  }
  for (const sequence of told) problems.push(`an answer was taken at ${sequence}, and is not there`)
  if (isStopped) return problems
  for (const { what, guest, code } of given) {
    if (guest !== ROGUE && code === 'answer_already_settled') problems.push(`${what} was lost to another`)
  }
  return problems
}

/** That whoever pauses says all that is waited for, and that nothing can go on. */
export function pauseProblems(entries: readonly Entry[]): string[] {
  const problems: string[] = []
  const fold = new Fold()
  let from = 0
  for (const [index, { sequence, chunk }] of entries.entries()) {
    if (chunk.type !== 'run-paused') continue
    fold.apply(entries.slice(from, index))
    from = index
    const view = fold.view()
    const isAsked = (call?: string) => chunk.awaits.some(one => one.kind === 'approval' && one.toolCallId === call)
    // A client's call that needs approval waits for that first, and then for its result.
    const first = chunk.awaits.filter(
      one => one.kind === 'approval' || (one.kind === 'client-tool' && !isAsked(one.id)),
    )
    const said = first.map(({ kind, id }) => `${kind} ${id}`)
    const open = view.pendings.map(({ kind, id }) => `${kind} ${id}`)
    if (said.sort().join() !== open.sort().join()) {
      problems.push(`entry ${sequence}: it pauses for ${said.join()}, and what waits is ${open.join()}`)
    }
    for (const able of ableOf(view)) problems.push(`entry ${sequence}: it pauses, and ${able} can go on`)
  }
  return problems
}

/** Who could go on: open calls that nobody has to answer, and agents without an open call. */
function ableOf({ messages, runs, agents, pendings, drafts }: View): string[] {
  const open = runs.at(-1)?.runId
  const able: string[] = drafts.map(draft => `a draft ${JSON.stringify(draft)}`)
  const waiting = new Set(pendings.flatMap(pending => ('part' in pending ? [pending.part.toolCallId] : [])))
  const working = new Map(agents.filter(({ status }) => status === undefined).map(one => [one.toolCallId, one.agentId]))
  for (const { runId, agentId, parts } of messages) {
    if (runId !== open || agentId === undefined) continue
    if (agentId !== runId && ![...working.values()].includes(agentId)) continue
    const calls = parts.filter((part): part is ToolPart => 'toolCallId' in part && !part.state.startsWith('output'))
    if (calls.length === 0) able.push(`agent ${agentId}`)
    for (const { toolCallId } of calls) {
      if (!waiting.has(toolCallId) && !working.has(toolCallId)) able.push(`call ${toolCallId}`)
    }
  }
  return able
}

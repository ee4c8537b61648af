// Checks a run: its log, its view and its executed calls.

import { type Entry, foldLog, type View } from '@millrace/protocol'
import { answerProblems, consentProblems, pauseProblems } from './answer-checks.fixture.ts'
import type { SubmittedAnswer } from './answering-clients.fixture.ts'
import { type Commits, commitsOf } from './commits.fixture.ts'
import type { CallLine, Line } from './ledger.fixture.ts'
import { type NormalizedView, normalizedView } from './normalized-view.fixture.ts'
import { textOf } from './reader-checks.fixture.ts'

/** The record of a run. */
export interface RunRecord {
  /** The whole log, including internal entries. */
  readonly entries: readonly Entry[]
  readonly view: View
  readonly lines: readonly Line[]
  /** The submitted answers, if there were any. */
  readonly submitted?: readonly SubmittedAnswer[]
}

export interface VerdictOptions {
  /** The same run without crashes. */
  readonly undisturbed?: RunRecord
  /**
   * Whether processes are stopped only where they wait, and share one clock: then no process starts a call while
   * another has the log. A real process can be stopped between reading its clock and the call.
   */
  readonly isExact?: boolean
}

/** All problems; empty if everything is correct. */
export function verdict(record: RunRecord, { undisturbed, isExact = false }: VerdictOptions = {}): string[] {
  const { entries, view, lines } = record
  const commits = commitsOf(entries)
  const stopped = stoppedOf(entries)
  return [
    ...commits.problems,
    ...startProblems(startsIn(commits), lines, isExact),
    ...inputProblems(lines, undisturbed && stopped.size === 0 ? undisturbed.lines : []),
    ...endProblems(commits.calledIds, lines),
    ...pauseProblems(entries),
    ...(record.submitted ? consentProblems(record) : []),
    ...(record.submitted ? answerProblems(entries, record.submitted, stopped.size > 0) : []),
    ...[...stopped].flatMap(([runId, at]) => stopProblems(entries, view, runId, at)),
    ...(undisturbed
      ? viewProblems(normalizedView(view), normalizedView(undisturbed.view), new Set(stopped.keys()))
      : []),
  ]
}

/** The time in which a process has the log, from a claim. */
interface LeasePeriod {
  readonly process: string
  /** By epoch: a process that gets its claim late has lost the log to a later claim. */
  readonly count: number
  /** Its first append: it has read everything before. */
  first: number | undefined
  /** The last entry of its own appends. */
  lastAppended: number
  readonly starts: Set<string>
}

const nameOf = ({ kind, key, attempt }: CallLine): string => `${kind} ${key} attempt ${attempt}`

/** The run of a model call, by its key. */
const runOf = (key: string): string => decodeURIComponent(key.split('/')[1] as string)

/** The entries of the log about a call that starts. */
export interface CallStarts {
  /** Sequence after which it must not be executed. */
  sealedAt(line: CallLine): number
  /** Sequence at which it was requested; undefined if it was not. */
  askedAt(line: CallLine): number | undefined
  /** Whether one process may execute it repeatedly. */
  mayRepeat?(line: CallLine): boolean
}

function startsIn({ outcomes, requests, ends }: Commits): CallStarts {
  return {
    askedAt: ({ kind, key }) => (kind === 'model' ? 0 : requests.get(key)?.at),
    sealedAt({ kind, key }) {
      const runId = kind === 'model' ? runOf(key) : requests.get(key)?.runId
      return Math.min(outcomes.get(key) ?? Infinity, ends.get(runId ?? '') ?? Infinity)
    },
  }
}

/** Checks that no call was executed after its outcome, without a request, or twice by one process. */
export function startProblems(starts: CallStarts, lines: readonly Line[], isExact: boolean): string[] {
  const problems: string[] = []
  const leases = new Map<string, LeasePeriod>()
  let latest: LeasePeriod | undefined
  let lastAcked = 0
  for (const line of lines) {
    const { process } = line
    const lease = leases.get(process)
    if (line.kind === 'claimed') {
      const newLease = {
        process,
        count: parseInt(line.epoch, 10),
        first: undefined,
        lastAppended: 0,
        starts: new Set<string>(),
      }
      leases.set(process, newLease)
      if (newLease.count > (latest?.count ?? 0)) latest = newLease
    } else if (line.kind === 'acked') {
      if (!lease) continue
      lease.first ??= line.first
      lease.lastAppended = line.last
      lastAcked = Math.max(lastAcked, line.last)
    } else if ('phase' in line && line.phase === 'start') {
      const addProblem = (problem: string) => problems.push(`${process} starts ${nameOf(line)}: ${problem}`)
      if (lease?.first === undefined) {
        addProblem('it has appended nothing')
        continue
      }
      const sealed = starts.sealedAt(line)
      if (sealed < lease.first)
        addProblem(`the log had the outcome at ${sealed}, before it took over at ${lease.first}`)
      else if (sealed <= lease.lastAppended) addProblem(`it had committed the outcome at ${sealed} itself`)
      else if (isExact && sealed <= lastAcked) addProblem(`the outcome at ${sealed} was known to be in the log`)
      if (isExact && lease !== latest) addProblem(`${latest?.process} has the log`)
      if (!((starts.askedAt(line) ?? Infinity) <= lease.lastAppended)) addProblem('it was not requested')
      if (lease.starts.has(nameOf(line)) && !starts.mayRepeat?.(line)) addProblem('it did so before')
      lease.starts.add(nameOf(line))
    }
  }
  return problems
}

/** Checks that repeated calls have the same arguments. */
export function inputProblems(lines: readonly Line[], reference: readonly Line[]): string[] {
  const problems: string[] = []
  const inputs = new Map<string, string>()
  for (const line of [...reference, ...lines]) {
    if (!('phase' in line) || line.phase !== 'start') continue
    const name = nameOf(line)
    const before = inputs.get(name)
    if (before === undefined && reference.length > 0 && !reference.includes(line)) {
      problems.push(`${name} is called, but is not called without crashes`)
    }
    if (before !== undefined && before !== line.input) {
      problems.push(`${name} is called with another input: ${difference(line.input, before)}`)
    }
    inputs.set(name, line.input)
  }
  return problems
}

const EXCERPT_LENGTH = 80

/** The first difference of two texts. */
function difference(found: string, expected: string): string {
  let at = 0
  while (found[at] === expected[at]) at++
  const from = Math.max(0, at - EXCERPT_LENGTH / 2)
  return `…${found.slice(from, at + EXCERPT_LENGTH)}… for …${expected.slice(from, at + EXCERPT_LENGTH)}…`
}

/** Checks that calls with an outcome were executed to their end. */
export function endProblems(calledIds: ReadonlySet<string>, lines: readonly Line[]): string[] {
  const ended = new Set(lines.map(line => ('phase' in line && line.phase === 'end' ? line.key : undefined)))
  return [...calledIds].filter(key => !ended.has(key)).map(key => `${key} was never called`)
}

/** Stopped runs, and the sequences of their stops. */
export function stoppedOf(entries: readonly Entry[]): ReadonlyMap<string, number> {
  const stopped = new Map<string, number>()
  for (const { sequence, chunk } of entries) {
    if (chunk.type === 'stop-requested' && !stopped.has(chunk.runId)) stopped.set(chunk.runId, sequence)
  }
  return stopped
}

/** Checks that the content before a stop stays, and that the run did not continue. */
export function stopProblems(entries: readonly Entry[], view: View, runId: string, at: number): string[] {
  const atStop = foldLog(entries.filter(({ sequence }) => sequence <= at)).view()
  const problems: string[] = []
  const started = atStop.runs.find(run => run.runId === runId)
  const status = view.runs.find(run => run.runId === runId)?.status
  if (started === undefined) return status === undefined ? [] : [`run ${runId} started after its request was cancelled`]
  if (status !== 'interrupted') problems.push(`run ${runId} was stopped, but its status is ${status}`)
  const messages = new Map(view.messages.map(message => [message.id, message]))
  for (const { id, parts } of atStop.messages.filter(message => message.runId === runId)) {
    for (const part of parts) {
      const remaining = messages.get(id)?.parts.find(({ key }) => key === part.key)
      if (!remaining || !(textOf(remaining) ?? '').startsWith(textOf(part) ?? '')) {
        problems.push(`run ${runId} was stopped, but ${JSON.stringify(part)} changed to ${JSON.stringify(remaining)}`)
      }
    }
  }
  for (const part of view.messages.flatMap(message => (message.runId === runId ? message.parts : []))) {
    const isOpen = 'toolCallId' in part ? !part.state.startsWith('output') : 'state' in part && part.state !== 'done'
    if (isOpen) problems.push(`run ${runId} was stopped, and ${JSON.stringify(part)} is still open`)
  }
  const openAgents = view.agents.filter(agent => agent.runId === runId && agent.status === undefined)
  if (openAgents.length > 0) problems.push(`run ${runId} was stopped, and ${JSON.stringify(openAgents)} still run`)
  return problems
}

/** Checks that the view equals the one without crashes, except for stopped runs. */
function viewProblems(view: NormalizedView, expected: NormalizedView, stopped: ReadonlySet<string>): string[] {
  if (stopped.size === 0) return differences('view', view, expected)
  const ofOthers = ({ messages, runs }: NormalizedView) => ({
    messages: (messages as { runId?: string }[]).filter(({ runId }) => runId !== undefined && !stopped.has(runId)),
    runs: (runs as { runId: string }[]).filter(({ runId }) => !stopped.has(runId)),
  })
  return differences('view', ofOthers(view), ofOthers(expected))
}

/** The first difference of two values. */
export function differences(path: string, found: unknown, expected: unknown): string[] {
  if (Object.is(found, expected)) return []
  if (typeof found !== 'object' || typeof expected !== 'object' || found === null || expected === null) {
    return [`${path} is ${JSON.stringify(found)}, expected ${JSON.stringify(expected)}`]
  }
  if (Array.isArray(found) && Array.isArray(expected) && found.length !== expected.length) {
    return [`${path} has ${found.length} elements, expected ${expected.length}`]
  }
  const keys = new Set([...Object.keys(found), ...Object.keys(expected)])
  return [...keys].flatMap(key =>
    differences(`${path}.${key}`, (found as Record<string, unknown>)[key], (expected as Record<string, unknown>)[key]),
  )
}

// Checks a run of a workflow: its log, its view and its executed work.

import { type Chunk, type Entry, Fold, isDraftChunk, isGuest, type View } from '@millrace/protocol'
import type { HookResult } from '../../execute/replay/journal.ts'
import { keyOf } from '../../session/key.ts'
import { answerProblems } from './answer-checks.fixture.ts'
import type { CallLine, Line } from './ledger.fixture.ts'
import { normalizedView, partOf } from './normalized-view.fixture.ts'
import {
  type CallStarts,
  differences,
  endProblems,
  inputProblems,
  type RunRecord,
  startProblems,
  stopProblems,
  stoppedOf,
  type VerdictOptions,
} from './run-verdict.fixture.ts'
import { SESSION } from './tools-program.fixture.ts'
import { opsOf, type Recipe } from './workflow.recipe.fixture.ts'

/** Properties of the workflows that the checks need. */
export interface WorkflowProperties {
  /** Whether nothing runs in parallel. */
  readonly isSequential: boolean
  /** Keys of steps that fail in retried nodes: these are repeated. */
  readonly failing: ReadonlySet<string>
}

/** Checks a run. */
export const workflowProblems =
  ({ isSequential, failing }: WorkflowProperties) =>
  (record: RunRecord, { undisturbed, isExact = false }: VerdictOptions = {}): string[] => {
    const { entries, view, lines, submitted = [] } = record
    const workflowLog = workflowRecords(entries)
    const stopped = stoppedOf(entries)
    const isStopped = stopped.size > 0
    return [
      ...workflowLog.problems,
      ...startProblems(startsIn(workflowLog, failing), lines, isExact),
      ...inputProblems(lines, undisturbed && !isStopped ? undisturbed.lines : []),
      ...endProblems(workflowLog.calledIds, lines),
      ...consentProblems(lines),
      ...pauseProblems(entries),
      ...answerProblems(entries, submitted, isStopped),
      ...[...stopped].flatMap(([runId, at]) => stopProblems(entries, view, runId, at)),
      ...(undisturbed && !isStopped
        ? [
            ...differences(
              'view',
              normalizedWorkflowView(view, isSequential),
              normalizedWorkflowView(undisturbed.view, isSequential),
            ),
            ...repeatedChunkProblems(entries, undisturbed.entries),
          ]
        : []),
    ]
  }

/** The properties of recipes. */
export function workflowProperties(recipes: readonly Recipe[]): WorkflowProperties {
  const nodes = recipes.flatMap(recipe => Object.values(recipe.nodes))
  const steps = nodes.flatMap(({ ops, attempts = 1 }) =>
    opsOf(ops).flatMap(op => (op.op === 'step' && op.fails && attempts > 1 ? [op.key] : [])),
  )
  const isSequential = nodes.every(({ ops, isParallel }) => !isParallel && ops.every(({ op }) => op !== 'together'))
  return { isSequential, failing: new Set(steps) }
}

/** Hooks and tools in a log. */
interface WorkflowRecords {
  /** Sequence of the record of a hook or a part of it, by id. */
  readonly records: ReadonlyMap<string, number>
  /** Sequences of the commit and the outcome of each tool call. */
  readonly requests: ReadonlyMap<string, number>
  readonly outcomes: ReadonlyMap<string, number>
  /** Keys of steps and tools with an outcome, which were executed. */
  readonly calledIds: ReadonlySet<string>
  readonly end: number
  readonly problems: readonly string[]
}

function workflowRecords(entries: readonly Entry[]): WorkflowRecords {
  const records = new Map<string, number>()
  const requests = new Map<string, number>()
  const outcomes = new Map<string, number>()
  const calledIds = new Set<string>()
  const draftChunks = new Map<string, number>()
  const problems: string[] = []
  let end = Number.POSITIVE_INFINITY
  let isStarted = false
  let isStopping = false
  for (const { sequence, origin, chunk, internal } of entries) {
    const addProblem = (problem: string) => problems.push(`entry ${sequence}, ${chunk.type}: ${problem}`)
    if (chunk.type === 'stop-requested') isStopping = true
    if (isGuest(origin)) continue
    const { runId, lane } = origin
    if (sequence > end) addProblem(`the run has ended at ${end}`)
    if (isDraftChunk(chunk)) draftChunks.set(lane, (draftChunks.get(lane) ?? 0) + 1)
    switch (chunk.type) {
      case 'run-started':
        isStarted = true
        break
      case 'run-finished':
        end = sequence
        break
      case 'hook-completed': {
        if (!internal) addProblem(`${chunk.hookId} is not internal`)
        const { hookId, hook } = chunk
        if (REPLACED_HOOKS.has(hook)) break
        const { asked, error } = (chunk.result ?? {}) as HookResult
        if (asked !== undefined) break
        if (error === undefined && records.has(hookId)) addProblem(`${hookId} was recorded at ${records.get(hookId)}`)
        records.set(hookId, sequence)
        if (error === undefined && hook === 'useStep') calledIds.add(keyOf(SESSION, runId, hookId))
        break
      }
      case 'tool-input-available':
        requests.set(keyOf(SESSION, runId, chunk.toolCallId), sequence)
        break
      case 'tool-output-available':
      case 'tool-output-error':
      case 'tool-output-denied': {
        if ('preliminary' in chunk && chunk.preliminary) break
        const key = keyOf(SESSION, runId, chunk.toolCallId)
        if (outcomes.has(key)) addProblem(`${chunk.toolCallId} has an outcome at ${outcomes.get(key)}`)
        outcomes.set(key, sequence)
        if (chunk.type === 'tool-output-available') calledIds.add(key)
        break
      }
      case 'step-discarded':
        if (!draftChunks.get(lane)) addProblem(`lane ${lane} has no draft to discard`)
        if (isStopping) addProblem('it discards content after a stop was requested')
        draftChunks.delete(lane)
        break
      case 'checkpoint-created':
        draftChunks.delete(lane)
        break
      default:
    }
  }
  if (isStarted && end === Number.POSITIVE_INFINITY) problems.push('the run has no end')
  return { records, requests, outcomes, calledIds, end, problems }
}

/** Records that replace each other during a run. */
const REPLACED_HOOKS: ReadonlySet<string> = new Set(['position', 'state', 'node'])

function startsIn({ records, requests, outcomes, end }: WorkflowRecords, failing: ReadonlySet<string>): CallStarts {
  const isFailing = ({ input }: CallLine) => failing.has(JSON.parse(input))
  const recordAt = (hookId: string) => records.get(hookId) ?? Number.POSITIVE_INFINITY
  return {
    // A tool call is in the log. A step or a model call is requested by code.
    askedAt: ({ kind, key }) => (kind === 'model' || nameIn(key).includes('/') ? 0 : requests.get(key)),
    sealedAt(line) {
      const { kind, key } = line
      const name = nameIn(key)
      if (kind === 'tool' && !name.includes('/')) return Math.min(end, outcomes.get(key) ?? Number.POSITIVE_INFINITY)
      if (kind === 'tool') return isFailing(line) ? end : Math.min(end, recordAt(name))
      const [, hookId = '', pass, step] = /^(.*):(\d+):(\d+)$/.exec(name) ?? []
      const first = pass === '1' ? recordAt(`${hookId}/first`) : Number.POSITIVE_INFINITY
      return Math.min(end, recordAt(hookId), recordAt(`${hookId}/${pass}.${step}`), first)
    },
    mayRepeat: isFailing,
  }
}

/** The last part of a key: a hook with its execution, or a tool call. */
const nameIn = (key: string): string => decodeURIComponent(key.split('/').at(-1) as string)

/** Checks that no tool ran without a required approval. */
function consentProblems(lines: readonly Line[]): string[] {
  const allowed = new Set<string>()
  return lines.flatMap(line => {
    if (line.kind === 'consent' && line.approved) allowed.add(line.toolCallId)
    if (line.kind !== 'tool' || line.phase !== 'start') return []
    const toolCallId = nameIn(line.key)
    if (!/^(approval|denial)-/.test(toolCallId) || allowed.has(toolCallId)) return []
    return [`${line.process} runs ${toolCallId}: no client had approved it`]
  })
}

/** Checks that each pause lists exactly the pendings and leaves no draft. */
function pauseProblems(entries: readonly Entry[]): string[] {
  const fold = new Fold()
  let from = 0
  return entries.flatMap(({ sequence, chunk }, index) => {
    if (chunk.type !== 'run-paused') return []
    fold.apply(entries.slice(from, index))
    from = index
    const { pendings, drafts } = fold.view()
    const awaited = chunk.awaits.map(({ kind, id }) => `${kind} ${id}`)
    const waits = pendings.map(({ kind, id }) => `${kind} ${id}`)
    const problems = drafts.map(draft => `entry ${sequence}: it pauses with a draft ${JSON.stringify(draft)}`)
    if (awaited.length > 0 && awaited.sort().join() === waits.sort().join()) return problems
    return [...problems, `entry ${sequence}: the pause lists ${awaited.join()}, but the pendings are ${waits.join()}`]
  })
}

/** A normalized view. Parts and objects of branches are in any order. */
function normalizedWorkflowView(view: View, isSequential: boolean) {
  const normal = normalizedView(view)
  const allParts = view.messages.flatMap(({ parts }) => parts)
  const parts = allParts.map(part => JSON.stringify(partOf(part)))
  const objects = (normal.structured as { streamId: string }[]).toSorted((one, other) =>
    one.streamId < other.streamId ? -1 : 1,
  )
  return {
    ...normal,
    messages: view.messages.map(({ id, role, status, runId }) => ({ id, role, status, runId })),
    parts: isSequential ? parts : parts.sort(),
    structured: objects,
  }
}

/** Chunk types that are written once. */
const CHUNKS_WRITTEN_ONCE: ReadonlySet<Chunk['type']> = new Set([
  'session',
  'status',
  'transition',
  'interrupt',
  'interrupt-response',
  'tool-approval-request',
  'tool-approval-response',
  'output',
])

/** Checks that the log has each of these chunks as often as without crashes. */
function repeatedChunkProblems(entries: readonly Entry[], expected: readonly Entry[]): string[] {
  const found = countChunks(entries)
  const wanted = countChunks(expected)
  const all = new Set([...found.keys(), ...wanted.keys()])
  return [...all].flatMap(chunkText => {
    const [count, expectedCount] = [found.get(chunkText) ?? 0, wanted.get(chunkText) ?? 0]
    return count === expectedCount ? [] : [`${chunkText} is in the log ${count} times, expected ${expectedCount}`]
  })
}

function countChunks(entries: readonly Entry[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { chunk, internal } of entries) {
    if (internal || !CHUNKS_WRITTEN_ONCE.has(chunk.type)) continue
    // A deadline depends on the time of the request.
    const chunkText = JSON.stringify({ ...chunk, deadline: undefined })
    counts.set(chunkText, (counts.get(chunkText) ?? 0) + 1)
  }
  return counts
}

// The position of a workflow: its open executions with their inputs. The log stores it as one record, so that a process continues a run
// without reading its history.

import type { Json } from '@millrace/protocol'
import type { Graph, Step } from '../../define/graph.ts'
import { MillraceError } from '../../error/error.ts'

/** An execution of a node that has not ended. */
export interface OpenExecution {
  /** `<leg>.<node>.<visit>`: the same in every process and on every attempt. A leg is one workflow of the run. */
  readonly execution: string
  readonly node: string
  readonly step: number
  readonly input?: Json
  /** How often it has failed. */
  readonly failures?: number
}

/** A branch that has reached its join, with its result. */
interface FinishedBranch {
  readonly done: true
  readonly data?: Json
}

/** A fork whose branches have not all reached the join. */
export interface OpenFork {
  readonly fork: string
  readonly join: string
  /** By the first node of the branch. */
  readonly branches: { readonly [head: string]: OpenBranch | FinishedBranch }
}

/** The open part of the workflow or of one branch: an execution, or a fork. */
export type OpenBranch = OpenExecution | OpenFork

/** The position of a workflow. Stored in the log: names of fields never change. */
export interface WorkflowPosition {
  /** The program of the current workflow. After a transition it differs from the run's program. */
  readonly program: string
  /** The number of workflows of the run so far, including this one. */
  readonly leg: number
  /** The number of executions so far. */
  readonly steps: number
  /** How often this workflow has entered each node. */
  readonly visits: { readonly [node: string]: number }
  /** How often this workflow has followed each edge that has a maximum. */
  readonly taken: { readonly [edge: string]: number }
  /** The open part of the workflow. */
  readonly line: OpenBranch
  /** The digest of the workflow's edges when it reached this position. */
  readonly edges: string
  /** The id of an earlier run, if this run repeats its interrupted work: idempotency keys contain that id instead of this run's. */
  readonly keys?: string
}

/** The heads of the nested branches that lead to a branch; empty for the workflow itself. */
export type BranchPath = readonly string[]

export const isFork = (line: OpenBranch | FinishedBranch): line is OpenFork => 'fork' in line

/** The position at the first node of a workflow. `before` is the position of the previous workflow in a transition. */
export function initialPosition(
  { program, graph }: { readonly program: string; readonly graph: Pick<Graph, 'first' | 'digest'> },
  input: Json | undefined,
  before?: WorkflowPosition,
): WorkflowPosition {
  const { leg = 0, steps = 0, keys } = before ?? {}
  const { first, digest: edges } = graph
  const notEntered: WorkflowPosition = {
    program,
    leg: leg + 1,
    steps,
    visits: {},
    taken: {},
    line: NO_EXECUTION,
    edges,
    ...(keys !== undefined && { keys }),
  }
  return positionAtNode(notEntered, [], first, input)
}

const NO_EXECUTION: OpenExecution = { execution: '', node: '', step: 0 }

/** The open part of a branch; undefined if the branch has reached its join. */
export function branchAt(position: WorkflowPosition, path: BranchPath): OpenBranch | undefined {
  let line: OpenBranch | FinishedBranch = position.line
  for (const head of path) {
    const inner: OpenBranch | FinishedBranch | undefined = isFork(line) ? line.branches[head] : undefined
    if (inner === undefined) return undefined
    line = inner
  }
  return 'done' in line ? undefined : line
}

/** All open executions of a branch. */
export function openExecutions(line: OpenBranch | FinishedBranch): readonly OpenExecution[] {
  if ('done' in line) return []
  return isFork(line) ? Object.values(line.branches).flatMap(openExecutions) : [line]
}

/**
 * The position after a branch takes a step with data for the next node.
 * @throws `workflow_loop` if the edge was followed as often as its maximum allows
 */
export function positionAfterStep(
  position: WorkflowPosition,
  path: BranchPath,
  step: Exclude<Step, { to: 'end' }>,
  data?: Json,
): WorkflowPosition {
  const counted = countEdge(position, step)
  if ('fork' in step) return enterFork(counted, path, step, data)
  const join = joinOf(counted, path)
  return step.to === join ? finishBranch(counted, path, data) : positionAtNode(counted, path, step.to, data)
}

/** The position after an execution failed and is retried. */
export function positionAfterFailure(position: WorkflowPosition, path: BranchPath): WorkflowPosition {
  const failed = branchAt(position, path) as OpenExecution
  const retried = { ...failed, failures: (failed.failures ?? 0) + 1 }
  return { ...position, line: replaceBranch(position.line, path, retried) }
}

/** The position after a branch enters a node. */
export function positionAtNode(
  position: WorkflowPosition,
  path: BranchPath,
  node: string,
  input: Json | undefined,
): WorkflowPosition {
  const { position: counted, entered } = countVisit(position, node, input)
  return { ...counted, line: replaceBranch(counted.line, path, entered) }
}

function countVisit(
  position: WorkflowPosition,
  node: string,
  input: Json | undefined,
): { position: WorkflowPosition; entered: OpenExecution } {
  const { leg, steps, visits } = position
  const count = (Object.hasOwn(visits, node) ? (visits[node] as number) : 0) + 1
  const entered: OpenExecution = {
    execution: `${leg}.${node}.${count}`,
    node,
    step: steps + 1,
    ...(input !== undefined && { input }),
  }
  return { entered, position: { ...position, steps: steps + 1, visits: { ...visits, [node]: count } } }
}

function countEdge(position: WorkflowPosition, step: Exclude<Step, { to: 'end' }>): WorkflowPosition {
  const { edge, max } = step as { readonly edge: string; readonly max?: number }
  if (max === undefined) return position
  const before = Object.hasOwn(position.taken, edge) ? (position.taken[edge] as number) : 0
  if (before >= max)
    throw new MillraceError(
      'workflow_loop',
      `the edge ${edge} was taken ${max} times, its maximum: raise max, or leave the loop earlier`,
    )
  return { ...position, taken: { ...position.taken, [edge]: before + 1 } }
}

function enterFork(
  position: WorkflowPosition,
  path: BranchPath,
  { fork, join }: Extract<Step, { fork: unknown }>,
  data?: Json,
) {
  let current = position
  const branches: Record<string, OpenBranch> = {}
  for (const head of fork) {
    const { position: counted, entered } = countVisit(current, head, data)
    current = counted
    branches[head] = entered
  }
  return { ...current, line: replaceBranch(current.line, path, { fork: `fork.${current.steps}`, join, branches }) }
}

/** Marks a branch as finished. If it was the last of its fork, the enclosing branch enters the join. */
function finishBranch(position: WorkflowPosition, path: BranchPath, data: Json | undefined): WorkflowPosition {
  const done: FinishedBranch = { done: true, ...(data !== undefined && { data }) }
  const line = replaceBranch(position.line, path, done)
  const outerPath = path.slice(0, -1)
  const fork = branchAt({ ...position, line }, outerPath) as OpenFork
  const all = Object.entries(fork.branches)
  if (!all.every(([, branch]) => 'done' in branch)) return { ...position, line }
  const results = all.map(([head, branch]) => [head, (branch as FinishedBranch).data ?? null] as const)
  return positionAtNode({ ...position, line }, outerPath, fork.join, Object.fromEntries(results))
}

function joinOf(position: WorkflowPosition, path: BranchPath): string | undefined {
  if (path.length === 0) return undefined
  const outer = branchAt(position, path.slice(0, -1))
  return outer && isFork(outer) ? outer.join : undefined
}

function replaceBranch(
  branch: OpenBranch | FinishedBranch,
  path: BranchPath,
  replacement: OpenBranch | FinishedBranch,
): OpenBranch {
  const [head, ...rest] = path
  if (head === undefined) return replacement as OpenBranch
  if (!isFork(branch)) throw new MillraceError('internal_error', `there is no branch ${head} here`)
  const inner = branch.branches[head] as OpenBranch | FinishedBranch
  return {
    ...branch,
    branches: { ...branch.branches, [head]: rest.length === 0 ? replacement : replaceBranch(inner, rest, replacement) },
  } as OpenBranch
}

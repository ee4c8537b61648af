// Where a workflow stands: which executions of nodes are open, with what they were given. It is a record of the log, so whoever takes the run over goes on
// at the same place, however long the way there was.

import type { Json } from '@millrace/protocol'
import type { Graph, Step } from '../../define/graph.ts'
import { MillraceError } from '../../error/error.ts'

/** One execution of a node that has not ended. */
export interface OpenExecution {
  /** The same name wherever and whenever it is looked for: the node, and how often the run came to it. */
  readonly execution: string
  readonly node: string
  readonly step: number
  readonly input?: Json
  /** How often it has failed. */
  readonly failures?: number
}

/** A branch that has come to its join, and what it brings. */
interface Done {
  readonly done: true
  readonly data?: Json
}

/** What lies open on one line: an execution, or branches that will join. */
export type Line =
  | OpenExecution
  | {
      readonly fork: string
      readonly join: string
      readonly branches: { readonly [head: string]: Line | Done }
    }

export interface WorkflowPosition {
  /** Of the workflow that is at work: another than the run's, after a transition. */
  readonly program: string
  /** How many workflows were at work so far, this one too. */
  readonly leg: number
  /** How many executions there were so far. */
  readonly steps: number
  /** How often each node was come to, and each edge with a cap was taken, by this workflow. */
  readonly visits: { readonly [node: string]: number }
  readonly taken: { readonly [edge: string]: number }
  readonly line: Line
  /** What tells the edges of the workflow as they were when it came to where it stands. */
  readonly edges: string
  /** The run by whose name effects go, where that is one before: what was cut off there is done again here. */
  readonly keys?: string
}

/** The heads of the branches from the main line down to a line. */
export type Path = readonly string[]

export const isFork = (line: Line | Done): line is Extract<Line, { fork: string }> => 'fork' in line

/** The beginning of a workflow. */
export function started(
  { program, graph }: { readonly program: string; readonly graph: Pick<Graph, 'first' | 'digest'> },
  input: Json | undefined,
  before?: WorkflowPosition,
): WorkflowPosition {
  const { leg = 0, steps = 0, keys } = before ?? {}
  const { first, digest: edges } = graph
  const none: WorkflowPosition = {
    program,
    leg: leg + 1,
    steps,
    visits: {},
    taken: {},
    line: NOWHERE,
    edges,
    ...(keys !== undefined && { keys }),
  }
  return entered(none, [], first, input)
}

const NOWHERE: OpenExecution = { execution: '', node: '', step: 0 }

/** What is open on a line; undefined where it has come to its join. */
export function lineAt(position: WorkflowPosition, path: Path): Line | undefined {
  let line: Line | Done = position.line
  for (const head of path) {
    const below: Line | Done | undefined = isFork(line) ? line.branches[head] : undefined
    if (below === undefined) return undefined
    line = below
  }
  return 'done' in line ? undefined : line
}

/** All executions that are open. */
export function openOf(line: Line | Done): readonly OpenExecution[] {
  if ('done' in line) return []
  return isFork(line) ? Object.values(line.branches).flatMap(openOf) : [line]
}

/** The position after a step on a line, which brings data along. Throws where an edge was taken as often as it may be. */
export function moved(
  position: WorkflowPosition,
  path: Path,
  step: Exclude<Step, { to: 'end' }>,
  data?: Json,
): WorkflowPosition {
  const counted = taken(position, step)
  if ('fork' in step) return forked(counted, path, step, data)
  const join = joinOf(counted, path)
  return step.to === join ? joined(counted, path, data) : entered(counted, path, step.to, data)
}

/** The position after an execution failed and is to be tried again. */
export function failedAt(position: WorkflowPosition, path: Path): WorkflowPosition {
  const at = lineAt(position, path) as OpenExecution
  return { ...position, line: placed(position.line, path, { ...at, failures: (at.failures ?? 0) + 1 }) }
}

/** The position with another node on a line, as if the run had come there. */
export function entered(
  position: WorkflowPosition,
  path: Path,
  node: string,
  input: Json | undefined,
): WorkflowPosition {
  const { position: counted, at } = visited(position, node, input)
  return { ...counted, line: placed(counted.line, path, at) }
}

function visited(
  position: WorkflowPosition,
  node: string,
  input: Json | undefined,
): { position: WorkflowPosition; at: OpenExecution } {
  const { leg, steps, visits } = position
  const count = (Object.hasOwn(visits, node) ? (visits[node] as number) : 0) + 1
  const at: OpenExecution = {
    execution: `${leg}.${node}.${count}`,
    node,
    step: steps + 1,
    ...(input !== undefined && { input }),
  }
  return { at, position: { ...position, steps: steps + 1, visits: { ...visits, [node]: count } } }
}

function taken(position: WorkflowPosition, step: Exclude<Step, { to: 'end' }>): WorkflowPosition {
  const { edge, max } = step as { readonly edge: string; readonly max?: number }
  if (max === undefined) return position
  const before = Object.hasOwn(position.taken, edge) ? (position.taken[edge] as number) : 0
  if (before >= max)
    throw new MillraceError('workflow_loop', `the edge ${edge} was taken ${max} times, and may be no more`)
  return { ...position, taken: { ...position.taken, [edge]: before + 1 } }
}

function forked(position: WorkflowPosition, path: Path, { fork, join }: Extract<Step, { fork: unknown }>, data?: Json) {
  let now = position
  const branches: Record<string, Line> = {}
  for (const head of fork) {
    const { position: counted, at } = visited(now, head, data)
    now = counted
    branches[head] = at
  }
  return { ...now, line: placed(now.line, path, { fork: `fork.${now.steps}`, join, branches }) }
}

/** A branch has come to its join: where it was the last, the line above goes on there. */
function joined(position: WorkflowPosition, path: Path, data: Json | undefined): WorkflowPosition {
  const done: Done = { done: true, ...(data !== undefined && { data }) }
  const line = placed(position.line, path, done)
  const above = path.slice(0, -1)
  const fork = lineAt({ ...position, line }, above) as Extract<Line, { fork: string }>
  const all = Object.entries(fork.branches)
  if (!all.every(([, branch]) => 'done' in branch)) return { ...position, line }
  const brought = all.map(([head, branch]) => [head, (branch as Done).data ?? null] as const)
  return entered({ ...position, line }, above, fork.join, Object.fromEntries(brought))
}

function joinOf(position: WorkflowPosition, path: Path): string | undefined {
  if (path.length === 0) return undefined
  const above = lineAt(position, path.slice(0, -1))
  return above && isFork(above) ? above.join : undefined
}

function placed(line: Line | Done, path: Path, what: Line | Done): Line {
  const [head, ...rest] = path
  if (head === undefined) return what as Line
  if (!isFork(line)) throw new MillraceError('internal_error', `there is no branch ${head} here`)
  const below = line.branches[head] as Line | Done
  return {
    ...line,
    branches: { ...line.branches, [head]: rest.length === 0 ? what : placed(below, rest, what) },
  } as Line
}

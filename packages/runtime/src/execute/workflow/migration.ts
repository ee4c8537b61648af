// How a run goes on that another version of its workflow began: where the functions of this version say, decided once, before any node runs.

import type { BatchItem, Lane, Ticket } from '@millrace/log'
import { pendingKey } from '@millrace/log/internal'
import type { Json, ToolPart } from '@millrace/protocol'
import { isObject } from '@millrace/protocol/internal'
import { branchesOf } from '../../define/wiring.ts'
import type { Migration, Workflow } from '../../define/workflow.ts'
import { jsonOption } from '../../define/workflow-checks.ts'
import { describeType } from '../../error/check-object.ts'
import { MillraceError } from '../../error/error.ts'
import type { ProgramExecution } from '../program-execution.ts'
import type { HookRecord, Journal } from '../replay/journal.ts'
import {
  type BranchPath,
  branchAt,
  isFork,
  type OpenExecution,
  positionAfterStep,
  type WorkflowPosition,
} from '../replay/position.ts'
import { subAgentEnds } from '../run-end.ts'

/** The version that a program names. */
const versionOf = (program: string): string => program.slice(program.lastIndexOf('@') + 1)

/** The workflow that a program names, or one that goes on with runs of it; throws where there is none here. */
export function workflowNamed(
  program: string,
  own: Workflow,
  workflowOf: (id: string) => Workflow | undefined,
): Workflow {
  const id = program.slice(program.indexOf(':') + 1, program.lastIndexOf('@'))
  const found = id === own.name ? own : workflowOf(id)
  if (found && (found.program === program || found.migrations.has(versionOf(program)))) return found
  throw new MillraceError('program_unknown', `the run stands in ${program}, and nobody here has that`)
}

/** Throws where a run stands in a fork, and the edges of its version are not what they were when it came there: its branches may not be what they were. */
export function mustHaveItsFork({ line, program, edges }: WorkflowPosition, workflow: Workflow): void {
  if (!isFork(line) || program !== workflow.program || edges === workflow.graph.digest) return
  const what = 'the run stands in branches, and the edges are not what they were when it came there'
  throw changed(`workflow ${workflow.name}`, `${what}: give the workflow another version`)
}

/** A run in its new version, and the executions of the old one that do not go on. */
export interface Migrated {
  readonly position: WorkflowPosition
  readonly replaced: readonly OpenExecution[]
}

/** Asks a workflow where a run of another version goes on, for each execution that is open; throws where it cannot. */
export function migrationOf(workflow: Workflow, position: WorkflowPosition, { state }: Journal): Migrated {
  const { name, program, nodes, graph } = workflow
  const version = versionOf(position.program)
  const migrate = workflow.migrations.get(version) as Migration
  const place = `workflow ${name}: migrate.${version}`
  const replaced: OpenExecution[] = []
  const branches = branchesOf(nodes, graph.edges)
  const isIn = (node: string, path: BranchPath) => branches.get(node)?.join('/') === path.join('/')
  let now: WorkflowPosition = { ...position, program, edges: graph.digest }
  const visit = (path: BranchPath): void => {
    const line = branchAt(now, path)
    if (line === undefined) return
    if (isFork(line)) {
      if (!nodes.has(line.join)) {
        throw changed(place, `the branches of the run meet in ${line.join}, and there is no such node any more`)
      }
      const heads = Object.keys(line.branches)
      const fork = graph.edges.find(({ join, to }) => join === line.join && to.length === heads.length)
      if (!heads.every(head => fork?.to.includes(head) && isIn(head, [...path, head]))) {
        throw changed(place, `the run stands in the branches ${heads.join(', ')}, and there is no such fork any more`)
      }
      for (const head of Object.keys(line.branches)) visit([...path, head])
      return
    }
    const to = asked(place, migrate, { node: line.node, input: line.input ?? null, state: state.under('workflow:') })
    const node = to?.node ?? line.node
    if (!nodes.has(node)) {
      const what = to ? `it returned the node ${node}` : `it lets the run stand in node ${node}`
      throw changed(place, `${what}, and there is no such node`)
    }
    const above = branchAt(now, path.slice(0, -1))
    const isJoin = to !== undefined && path.length > 0 && above && isFork(above) && above.join === node
    if (!isJoin && !isIn(node, path)) {
      const what = to ? `it returned the node ${node} for node ${line.node}` : `it lets the run stand in node ${node}`
      const head = path.at(-1)
      const where =
        head === undefined ? 'which is in a branch, and the run is in none' : `which is not in the branch ${head}`
      throw changed(place, `${what}, ${where}`)
    }
    if (to === undefined) return
    replaced.push(line)
    now = positionAfterStep(now, path, { to: node, edge: '' }, to.input)
  }
  visit([])
  return { position: now, replaced }
}

function asked(
  place: string,
  migrate: Migration,
  at: Parameters<Migration>[0],
): { readonly node: string; readonly input: Json } | undefined {
  let to: unknown
  try {
    to = migrate(structuredClone(at))
  } catch (cause) {
    throw changed(place, `it threw for node ${at.node}`, cause)
  }
  if (to === undefined) return undefined
  if (!isObject(to) || typeof to['node'] !== 'string') {
    throw changed(place, `it returned ${found(to)} for node ${at.node}: expected { node, input } or nothing`)
  }
  try {
    return { node: to['node'], input: jsonOption(`${place}: input`, to['input']) }
  } catch (cause) {
    throw changed(place, `it returned an input that is not JSON for node ${at.node}`, cause)
  }
}

const found = (value: unknown): string =>
  value instanceof Promise ? 'a promise' : isObject(value) ? 'an object without a node' : describeType(value)

const changed = (place: string, what: string, cause?: unknown): MillraceError =>
  new MillraceError('workflow_changed', `${place}: ${what}`, { cause })

/** Settles what executions wait for that do not go on, so that the run does not wait for it: what is open on the ticket, and calls that are not done. */
export function settlementOf(
  { session, writer, runId, agentId }: ProgramExecution,
  records: readonly HookRecord[],
  lane: Lane,
  { pendings }: Ticket,
): readonly BatchItem[] {
  const questions = new Set(
    records.flatMap(({ result }) => result.asked ?? []).map(id => pendingKey({ kind: 'interrupt', id })),
  )
  const calls = new Set(records.flatMap(({ result }) => callsOf(result.value)))
  const responses = pendings
    .filter(pending => questions.has(pendingKey(pending)))
    .map(({ id }): BatchItem => ({ chunk: { type: 'interrupt-response', interruptId: id, response: null }, lane }))
  const shown = session.message(runId, agentId)
  const hidden = session.internalMessage(runId, agentId)
  const outcomes = [shown, hidden].flatMap(message =>
    (message?.parts ?? [])
      .filter((part): part is ToolPart => 'toolCallId' in part && calls.has(part.toolCallId) && isOpen(part))
      .map(({ toolCallId }): BatchItem => {
        const errorText = 'The workflow goes on elsewhere since this call was made.'
        const chunk = { type: 'tool-output-error', toolCallId, errorText, code: 'interrupted' } as const
        return { chunk, lane, internal: message === hidden }
      }),
  )
  const children = subAgentEnds(session, writer, 'interrupted', ({ toolCallId }) => calls.has(toolCallId))
  return [...responses, ...children, ...outcomes]
}

/** The calls that a model call made, where a record is of one. */
function callsOf(value: Json | undefined): readonly string[] {
  const ids = isObject(value) ? value['toolCallIds'] : undefined
  return Array.isArray(ids) ? ids.filter(id => typeof id === 'string') : []
}

const isOpen = ({ state }: ToolPart): boolean => !state.startsWith('output-')

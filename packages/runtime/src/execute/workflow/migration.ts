// Migrates a run of another version of its workflow. It is decided once, before any node runs.

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

/** The version in a program name. */
const versionOf = (program: string): string => program.slice(program.lastIndexOf('@') + 1)

/**
 * The workflow of a program name, or one that migrates its runs. `currentWorkflow` is preferred to the registered one.
 * @throws {MillraceError} if this process has none.
 */
export function workflowOfProgram(
  program: string,
  currentWorkflow: Workflow,
  workflowOf: (id: string) => Workflow | undefined,
): Workflow {
  const id = program.slice(program.indexOf(':') + 1, program.lastIndexOf('@'))
  const found = id === currentWorkflow.name ? currentWorkflow : workflowOf(id)
  if (found && (found.program === program || found.migrations.has(versionOf(program)))) return found
  throw new MillraceError(
    'program_unknown',
    `the run is in ${program}, which this process does not have: deploy it, or add a migration from its version`,
  )
}

/**
 * @throws {MillraceError} if a run is in a fork and the edges of its version have changed since, because its branches
 * may differ.
 */
export function checkForkUnchanged({ line, program, edges }: WorkflowPosition, workflow: Workflow): void {
  if (!isFork(line) || program !== workflow.program || edges === workflow.graph.digest) return
  const problem = 'the run is in a fork, and the edges have changed since it entered the fork'
  throw changedError(`workflow ${workflow.name}`, `${problem}: give the workflow a new version`)
}

/** A migrated position, and the executions of the old version that end. */
export interface MigratedPosition {
  readonly position: WorkflowPosition
  readonly replaced: readonly OpenExecution[]
}

/** Migrates every open execution of a run. @throws {MillraceError} if a migration is not possible. */
export function migratePosition(workflow: Workflow, position: WorkflowPosition, { state }: Journal): MigratedPosition {
  const { name, program, nodes, graph } = workflow
  const version = versionOf(position.program)
  const migrate = workflow.migrations.get(version) as Migration
  const label = `workflow ${name}: migrate.${version}`
  const replaced: OpenExecution[] = []
  const branches = branchesOf(nodes, graph.edges)
  const isIn = (node: string, path: BranchPath) => branches.get(node)?.join('/') === path.join('/')
  let current: WorkflowPosition = { ...position, program, edges: graph.digest }
  const visit = (path: BranchPath): void => {
    const branch = branchAt(current, path)
    if (branch === undefined) return
    if (isFork(branch)) {
      if (!nodes.has(branch.join)) {
        throw changedError(
          label,
          `the branches of the run join in ${branch.join}, which does not exist any more: keep that node until these runs have ended`,
        )
      }
      const heads = Object.keys(branch.branches)
      const fork = graph.edges.find(({ join, to }) => join === branch.join && to.length === heads.length)
      if (!heads.every(head => fork?.to.includes(head) && isIn(head, [...path, head]))) {
        throw changedError(
          label,
          `the run is in the branches ${heads.join(', ')}, and their fork does not exist any more: keep it until these runs have ended`,
        )
      }
      for (const head of Object.keys(branch.branches)) visit([...path, head])
      return
    }
    const to = callMigration(label, migrate, {
      node: branch.node,
      input: branch.input ?? null,
      state: state.under('workflow:'),
    })
    const node = to?.node ?? branch.node
    if (!nodes.has(node)) {
      const problem = to ? `it returned the node ${node}` : `it keeps the run in node ${node}`
      throw changedError(label, `${problem}, which does not exist`)
    }
    const enclosing = branchAt(current, path.slice(0, -1))
    const isJoin = to !== undefined && path.length > 0 && enclosing && isFork(enclosing) && enclosing.join === node
    if (!isJoin && !isIn(node, path)) {
      const problem = to ? `it returned the node ${node} for node ${branch.node}` : `it keeps the run in node ${node}`
      const head = path.at(-1)
      const where =
        head === undefined ? 'which is in a branch, but the run is in none' : `which is not in the branch ${head}`
      throw changedError(label, `${problem}, ${where}`)
    }
    if (to === undefined) return
    replaced.push(branch)
    current = positionAfterStep(current, path, { to: node, edge: '' }, to.input)
  }
  visit([])
  return { position: current, replaced }
}

function callMigration(
  label: string,
  migrate: Migration,
  point: Parameters<Migration>[0],
): { readonly node: string; readonly input: Json } | undefined {
  let to: unknown
  try {
    to = migrate(structuredClone(point))
  } catch (cause) {
    throw changedError(label, `it threw for node ${point.node}`, cause)
  }
  if (to === undefined) return undefined
  if (!isObject(to) || typeof to['node'] !== 'string') {
    throw changedError(
      label,
      `it returned ${describeResult(to)} for node ${point.node}: expected { node, input } or undefined`,
    )
  }
  try {
    return { node: to['node'], input: jsonOption(`${label}: input`, to['input']) }
  } catch (cause) {
    throw changedError(label, `it returned an input that is not JSON for node ${point.node}`, cause)
  }
}

const describeResult = (value: unknown): string =>
  value instanceof Promise ? 'a promise' : isObject(value) ? 'an object without a node' : describeType(value)

const changedError = (label: string, problem: string, cause?: unknown): MillraceError =>
  new MillraceError('workflow_changed', `${label}: ${problem}`, { cause })

/** The batch that settles the interrupts and open calls of executions that end. */
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
  const publicMessage = session.message(runId, agentId)
  const internalMessage = session.internalMessage(runId, agentId)
  const outcomes = [publicMessage, internalMessage].flatMap(message =>
    (message?.parts ?? [])
      .filter((part): part is ToolPart => 'toolCallId' in part && calls.has(part.toolCallId) && isOpen(part))
      .map(({ toolCallId }): BatchItem => {
        const errorText = 'The workflow was migrated after this call was made.'
        const chunk = { type: 'tool-output-error', toolCallId, errorText, code: 'interrupted' } as const
        return { chunk, lane, internal: message === internalMessage }
      }),
  )
  const children = subAgentEnds(session, writer, 'interrupted', ({ toolCallId }) => calls.has(toolCallId))
  return [...responses, ...children, ...outcomes]
}

/** The ids of the calls of a model call, if the record is one. */
function callsOf(value: Json | undefined): readonly string[] {
  const ids = isObject(value) ? value['toolCallIds'] : undefined
  return Array.isArray(ids) ? ids.filter(id => typeof id === 'string') : []
}

const isOpen = ({ state }: ToolPart): boolean => !state.startsWith('output-')

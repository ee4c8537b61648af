// Runs a workflow from its position in the log, with branches in parallel, until it ends or cannot continue here.

import { type BatchItem, type Lane, sessionIdOf } from '@millrace/log'
import type { Chunk, Json } from '@millrace/protocol'
import type { Node } from '../../define/node.ts'
import type { Workflow } from '../../define/workflow.ts'
import { BudgetError, MillraceError } from '../../error/error.ts'
import { logErrorCode } from '../../error/log-error-code.ts'
import { validate } from '../../schema/schema.ts'
import type { ExecutionResult } from '../executor.ts'
import type { ProgramExecution } from '../program-execution.ts'
import { recordScope } from '../record-scope.ts'
import { NODE_ENDED, NodeExecution } from '../replay/execution.ts'
import { checkpointOf, hookRecordEntry, Journal, positionIdOf } from '../replay/journal.ts'
import {
  type BranchPath,
  branchAt,
  initialPosition,
  isFork,
  type OpenExecution,
  openExecutions,
  positionAfterFailure,
  positionAfterStep,
  positionAtNode,
  type WorkflowPosition,
} from '../replay/position.ts'
import { type ResumePoint, readResumePoint, resumeBatches, resumedRunIds } from '../replay/resume-point.ts'
import { type PreparedCommit, StructuredStreams } from '../replay/uncommitted.ts'
import { attemptNode, handleFailureAtEnd, type NodeAttempt, NodeEndError, resultTooLargeError } from './attempt-node.ts'
import { checkForkUnchanged, migratePosition, settlementOf, workflowOfProgram } from './migration.ts'
import { QuiescenceDetector } from './quiescence-detector.ts'

/**
 * Runs a workflow until it is done or cannot continue. `callInput` is the input of a sub-agent call.
 * @throws if it fails.
 */
export function runWorkflow(work: ProgramExecution, workflow: Workflow, callInput?: Json): Promise<ExecutionResult> {
  return new WorkflowRun(work, workflow, callInput).run()
}

const never = (): Promise<never> => new Promise(() => {})

/** Prepares the commit of an execution's end. @throws {NodeEndError} if the node's state changes are rejected. */
function prepareEnd(execution: NodeExecution): PreparedCommit {
  try {
    return execution.prepareFinalCommit()
  } catch (cause) {
    throw new NodeEndError('the state changes of the node were rejected', { cause })
  }
}

class WorkflowRun {
  readonly #work: ProgramExecution
  #workflow: Workflow
  readonly #input: Json | undefined
  readonly #scope: string
  readonly #open = new Set<NodeExecution>()
  readonly #streams: StructuredStreams
  readonly #quiescence = new QuiescenceDetector(this.#open)
  #journal!: Journal
  #position!: WorkflowPosition

  constructor(work: ProgramExecution, workflow: Workflow, callInput: Json | undefined) {
    this.#work = work
    this.#workflow = workflow
    this.#input = callInput
    this.#streams = new StructuredStreams(work.session)
    this.#scope = recordScope(work)
  }

  async run(): Promise<ExecutionResult> {
    try {
      await this.#start()
      const ended = await Promise.race([this.#runBranch([]).then(ended => ended ?? never()), this.#quiescence.halted])
      for (const { telemetry } of this.#open) {
        if (ended.outcome !== 'done') telemetry.end(ended.outcome === 'handed-over' ? 'left' : 'paused')
      }
      return ended
    } finally {
      this.#quiescence.close()
      for (const execution of this.#open) execution.close(NODE_ENDED)
    }
  }

  /** Reads the position of the workflow, or starts it. */
  async #start(): Promise<void> {
    const work = this.#work
    this.#journal = await Journal.read(work.session, work.runId, this.#scope)
    const resumePoint =
      this.#journal.position || work.parent ? undefined : await readResumePoint(work.session, work.runId)
    const position = this.#journal.position ?? resumePoint?.position
    if (position) {
      this.#position = position
      this.#workflow = this.#workflowOfProgram(position.program)
      checkForkUnchanged(position, this.#workflow)
      if (resumePoint) await this.#copyRecords(resumePoint)
      if (position.program !== this.#workflow.program) await this.#migrate()
      return
    }
    const callInput = work.parent ? this.#input : requestInput(work, this.#workflow)
    const lane = work.lane(0)
    this.#position = initialPosition(this.#workflow, await parseInput(this.#workflow, callInput))
    await lane.commit([...this.#startEntries(lane), { chunk: checkpointOf(lane), lane }])
  }

  /** Copies the records of the run that this run resumes. */
  async #copyRecords(resumePoint: ResumePoint): Promise<void> {
    const lane = this.#positionLane()
    for (const batch of resumeBatches(resumePoint, lane, this.#startEntries(lane))) {
      await lane.commit([...batch, { chunk: checkpointOf(lane), lane }])
    }
    this.#journal = new Journal(resumePoint.records, this.#scope)
  }

  /** Migrates a run of another version before any node runs, and settles what it no longer waits for. */
  async #migrate(): Promise<void> {
    const { session, writer, signal } = this.#work
    const before = this.#position
    const { position, replaced } = migratePosition(this.#workflow, before, this.#journal)
    const lane = this.#positionLane(position)
    const records = replaced.flatMap(({ execution }) => [...this.#journal.recordsOf(execution).values()])
    const ends = replaced.map(at => this.#endRecord(at, lane))
    await session.catchUp()
    await writer.decide(ticket => {
      signal.throwIfAborted()
      const settled = settlementOf(this.#work, records, lane, ticket)
      return [
        ...settled,
        ...ends,
        ...this.#positionEntries(lane, position, before),
        { chunk: checkpointOf(lane), lane },
      ]
    })
    for (const { execution } of replaced) this.#journal.forget(execution)
    this.#position = position
  }

  /** The lane for entries about the position. */
  #positionLane({ line } = this.#position): Lane {
    return this.#work.lane(openExecutions(line)[0]?.step ?? 0)
  }

  /** The first entries of a run. */
  #startEntries(lane: Lane): readonly BatchItem[] {
    const { parent, session } = this.#work
    const sessionEntries: BatchItem[] = parent
      ? []
      : [{ chunk: { type: 'session', sessionId: sessionIdOf(session.id) }, lane }]
    return [...sessionEntries, ...this.#positionEntries(lane)]
  }

  /** Runs a branch until it ends the workflow, which is returned, or reaches its join. */
  async #runBranch(path: BranchPath): Promise<ExecutionResult | undefined> {
    this.#quiescence.begin()
    try {
      for (;;) {
        const line = branchAt(this.#position, path)
        if (line === undefined) return undefined
        if (isFork(line)) {
          // It is not active while its own branches are.
          this.#quiescence.end()
          const branches = Object.keys(line.branches).map(head => this.#runBranch([...path, head]))
          await Promise.all(branches).finally(() => this.#quiescence.begin())
        } else if (this.#work.handover.aborted) {
          return await this.#quiescence.handOver()
        } else {
          const ended = await this.#execute(path, line)
          if (ended) return ended
        }
      }
    } finally {
      this.#quiescence.end()
    }
  }

  /** Runs the open execution of a branch with its retries. Returns the result if the workflow ends with it. */
  async #execute(path: BranchPath, at: OpenExecution): Promise<ExecutionResult | undefined> {
    const end = this.#journal.endOf(at.execution)
    if (end) return this.#finish(at, this.#laneOf(path, at), end.value)
    const { budget } = this.#workflow
    if (at.step > budget.steps) {
      throw new BudgetError(
        'budget_steps',
        `the run would execute ${at.step} nodes, the limit is ${budget.steps}: raise budget.steps`,
      )
    }
    const node = this.#nodeOf(at.node)
    const telemetry = this.#work.telemetry.node({ node: at.node, step: at.step, attempt: (at.failures ?? 0) + 1 })
    const execution = new NodeExecution({
      work: this.#work,
      telemetry,
      at,
      lane: this.#laneOf(path, at),
      state: this.#journal.state,
      streams: this.#streams,
      scope: this.#scope,
      effectRunId: this.#position.keys ?? this.#work.runId,
      records: this.#journal.recordsOf(at.execution),
      onChange: () => this.#quiescence.check(),
    })
    this.#open.add(execution)
    try {
      const attempt = await telemetry.within(() => attemptNode(execution, node))
      if (attempt === undefined) return await this.#quiescence.handOver()
      const ended = await this.#applyAttempt(path, execution, node, attempt).catch(async error => {
        if (!(error instanceof NodeEndError)) throw error
        return this.#applyAttempt(path, execution, node, await handleFailureAtEnd(execution, node, error))
      })
      telemetry.end('completed')
      return ended
    } catch (error) {
      const cause = error instanceof NodeEndError ? error.cause : error
      telemetry.end('failed', cause)
      throw cause
    } finally {
      this.#open.delete(execution)
      execution.close(NODE_ENDED)
    }
  }

  async #applyAttempt(
    path: BranchPath,
    execution: NodeExecution,
    node: Node,
    attempt: NodeAttempt,
  ): Promise<ExecutionResult | undefined> {
    const { at } = execution
    if (attempt.outcome === 'retry') {
      await this.#moveTo(execution, position => positionAfterFailure(position, path))
      return undefined
    }
    const edges = this.#workflow.graph.digest
    if (attempt.outcome === 'routed') {
      const { to, failure } = attempt
      await this.#moveTo(execution, position => positionAtNode({ ...position, edges }, path, to, failure))
      return undefined
    }
    const { condition, transitionTo } = attempt
    const { data = at.input } = attempt
    if (transitionTo !== undefined) return this.#transition(path, execution, transitionTo, data)
    const step = this.#workflow.graph.next(node.id, condition)
    if (step === undefined) {
      const isChanged = this.#position.edges !== edges
      throw new MillraceError(
        isChanged ? 'workflow_changed' : 'workflow_no_way',
        `node ${node.id} returned ${condition === undefined ? 'no condition' : `the condition ${condition}`}, but no edge matches${isChanged ? ': its edges have changed since the run entered it. Give the workflow a new version' : ''}`,
      )
    }
    if (!('to' in step) || step.to !== 'end') {
      const nextStep = step as Exclude<typeof step, { to: 'end' }>
      await this.#moveTo(execution, position => positionAfterStep({ ...position, edges }, path, nextStep, data))
      return undefined
    }
    // The input of the last node must not become the output.
    return this.#finish(at, execution.lane, attempt.data)
  }

  /** A node of the run's position. */
  #nodeOf(id: string): Node {
    const node = this.#workflow.nodes.get(id)
    if (node) return node
    throw new MillraceError(
      'workflow_changed',
      `workflow ${this.#workflow.name} does not have the node ${id} any more: restore it, or give the workflow a new version with a migration`,
    )
  }

  /** The end of the workflow, with the items to commit. */
  async #finish(at: OpenExecution, lane: Lane, data: Json | undefined): Promise<ExecutionResult> {
    const { parent } = this.#work
    const checkpoint = checkpointOf(lane, true)
    const hookId = `${this.#scope}${at.execution}`
    const finalItems: BatchItem[] = [
      ...(data !== undefined && !parent ? [{ chunk: { type: 'output', output: data } as const, lane }] : []),
      // A run that resumes from this checkpoint has nothing left to do.
      hookRecordEntry({ hookId, hook: 'node', result: { ...(data !== undefined && { value: data }) } }, lane),
      { chunk: checkpoint, lane },
    ]
    if (!lane.fits(finalItems)) {
      const problem = `node ${at.node} returned data that exceeds the size limit of an output: return less, or a reference`
      throw new NodeEndError(problem, { cause: new MillraceError('hook_result_too_large', problem) })
    }
    this.#work.checkpointId = checkpoint.checkpointId
    // Without data, a sub-agent call gets the text of the workflow.
    const output = data === undefined && parent ? (await this.#allText()) || null : data
    const text = typeof output === 'string' ? output : ''
    return {
      outcome: 'done',
      finalItems,
      finishReason: 'stop',
      steps: at.step,
      text,
      ...(output !== undefined && { output }),
    }
  }

  /** All text of the workflow. */
  async #allText(): Promise<string> {
    const { writer, session, runId, agentId } = this.#work
    await writer.flush()
    const parts = (await session.current()).message(runId, agentId)?.parts ?? []
    return parts.map(part => (part.type === 'text' && 'text' in part ? part.text : '')).join('')
  }

  async #transition(
    path: BranchPath,
    execution: NodeExecution,
    id: string,
    data: Json | undefined,
  ): Promise<undefined> {
    const { node } = execution.at
    if (path.length > 0) {
      throw new MillraceError(
        'workflow_no_way',
        `node ${node} is in a branch and cannot transition to workflow ${id}: join first`,
      )
    }
    const next = this.#work.workflowOf(id)
    if (next === undefined) {
      throw new MillraceError(
        'workflow_no_way',
        `node ${node} transitions to workflow ${id}, which this process does not have: add it to workflows`,
      )
    }
    // The data may quote internal content.
    const input = await parseInput(next, data, true)
    const chunk: Chunk = { type: 'transition', transitionTo: id }
    await this.#moveTo(execution, position => initialPosition(next, input, position), [{ chunk, lane: execution.lane }])
    this.#workflow = next
    return undefined
  }

  /** Commits the end of an execution or of an attempt, together with the new position. */
  async #moveTo(
    execution: NodeExecution,
    change: (position: WorkflowPosition) => WorkflowPosition,
    extraEntries: readonly BatchItem[] = [],
  ): Promise<void> {
    const { lane, at } = execution
    await this.#work.commitLock.run(async () => {
      this.#work.signal.throwIfAborted()
      const before = this.#position
      const after = change(this.#position)
      const isOver = !openExecutions(after.line).some(({ execution }) => execution === at.execution)
      const prepared = prepareEnd(execution)
      const endRecords = isOver ? [this.#endRecord(at, lane)] : []
      const entries = [
        ...extraEntries,
        ...prepared.entries,
        ...endRecords,
        ...this.#positionEntries(lane, after, before),
        { chunk: checkpointOf(lane, isOver), lane },
      ]
      await lane.commit(entries).catch(error => {
        throw logErrorCode(error) === 'too-large' ? resultTooLargeError(at.node, error) : error
      })
      prepared.onCommitted()
      if (isOver) this.#journal.forget(at.execution)
      this.#position = after
    })
  }

  /** The record that an execution has ended. Its other records are not needed any more. */
  #endRecord({ execution }: OpenExecution, lane: Lane): BatchItem {
    const chunk = { type: 'hook-completed', hookId: `${this.#scope}${execution}`, hook: 'node' } as const
    return { chunk, lane, internal: true }
  }

  /** The entries about a new position: a status for each node that is entered, and the record. */
  #positionEntries(lane: Lane, after = this.#position, before?: WorkflowPosition): BatchItem[] {
    const previous = new Set(before ? openExecutions(before.line).map(({ execution }) => execution) : [])
    const workflow = this.#workflowOfProgram(after.program)
    const entered = openExecutions(after.line).filter(({ execution }) => !previous.has(execution))
    const statuses = entered.map(({ node, step }): BatchItem => {
      const message = workflow.nodes.get(node)?.title ?? node
      return { chunk: { type: 'status', message }, lane, node, step }
    })
    const result = { value: after as unknown as Json }
    return [...statuses, hookRecordEntry({ hookId: positionIdOf(this.#scope), hook: 'position', result }, lane)]
  }

  #laneOf(path: BranchPath, { node, step }: OpenExecution): Lane {
    const main = this.#work.lane(step).origin
    let name = main.lane
    for (let depth = 0; depth < path.length; depth++) {
      const { fork } = branchAt(this.#position, path.slice(0, depth)) as { readonly fork: string }
      name = `${name}/${fork}.${path[depth]}`
    }
    return this.#work.writer.lane({ ...main, lane: name, node })
  }

  #workflowOfProgram(program: string): Workflow {
    return workflowOfProgram(program, this.#workflow, id => this.#work.workflowOf(id))
  }
}

/** The input of a run; for a resumed run, that of the first run. */
function requestInput({ data, session, runId }: ProgramExecution, { inputSchema }: Workflow): Json {
  const [first = runId] = resumedRunIds(session, runId)
  const text = session.requestText(first)
  // Data of a client is the input only of a workflow with an `inputSchema`.
  return inputSchema ? (data ?? text) : text
}

/**
 * Validates the input of a workflow. With `isSecret` the error does not contain the problem (law 10).
 * @throws {MillraceError} if it does not match the schema.
 */
async function parseInput(
  { inputSchema, name }: Workflow,
  callInput: Json | undefined,
  isSecret = false,
): Promise<Json | undefined> {
  if (inputSchema === undefined) {
    if (callInput === undefined || typeof callInput === 'string') return callInput ?? ''
    throw new MillraceError(
      'workflow_input_invalid',
      `workflow ${name} expected text, found another value: define its inputSchema`,
    )
  }
  const checked = await validate(inputSchema, callInput)
  if ('problem' in checked) {
    const problem = `workflow ${name}: the input does not match inputSchema`
    const cause = checked.cause ?? new Error(checked.problem)
    throw new MillraceError('workflow_input_invalid', isSecret ? problem : `${problem}: ${checked.problem}`, { cause })
  }
  // Normalized, so that the first node gets the same value live and from the log.
  return checked.value === undefined ? undefined : (JSON.parse(JSON.stringify(checked.value)) as Json)
}

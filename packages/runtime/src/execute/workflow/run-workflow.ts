// A workflow at work: from where the log says that it stands, node after node, branches side by side, until its end, or until nothing of it can go on here.

import type { BatchItem, Lane } from '@millrace/log'
import type { Chunk, Json } from '@millrace/protocol'
import type { Node } from '../../define/node.ts'
import type { Workflow } from '../../define/workflow.ts'
import { BudgetError, MillraceError, ValidationError } from '../../error/error.ts'
import { logErrorCode } from '../../error/log-error.ts'
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
import { type ResumePoint, readResumePoint, resumeBatches } from '../replay/resume-point.ts'
import { type PreparedCommit, StructuredStreams } from '../replay/uncommitted.ts'
import { attemptNode, failedAtEnd, type NodeAttempt, NodeEndError } from './attempt-node.ts'
import { askedOf, inputOf } from './input.ts'
import { migrationOf, mustHaveItsFork, settlementOf, workflowNamed } from './migration.ts'
import { QuiescenceDetector } from './quiescence-detector.ts'

/** Works until the workflow is done, or cannot go on; throws why it cannot be done. One that works for a call is given what it begins with. */
export function runWorkflow(work: ProgramExecution, workflow: Workflow, given?: Json): Promise<ExecutionResult> {
  return new WorkflowRun(work, workflow, given).run()
}

const never = (): Promise<never> => new Promise(() => {})

/** What the commit of an execution's end keeps of it; what is wrong with that is its node's failure. */
function prepareEnd(execution: NodeExecution): PreparedCommit {
  try {
    return execution.prepareFinalCommit()
  } catch (cause) {
    throw new NodeEndError('what it changed does not fit', { cause })
  }
}

class WorkflowRun {
  readonly #work: ProgramExecution
  #workflow: Workflow
  readonly #given: Json | undefined
  readonly #scope: string
  readonly #open = new Set<NodeExecution>()
  readonly #streams: StructuredStreams
  readonly #quiescence = new QuiescenceDetector(this.#open)
  #journal!: Journal
  #position!: WorkflowPosition

  constructor(work: ProgramExecution, workflow: Workflow, given: Json | undefined) {
    this.#work = work
    this.#workflow = workflow
    this.#given = given
    this.#streams = new StructuredStreams(work.session)
    this.#scope = recordScope(work)
  }

  async run(): Promise<ExecutionResult> {
    try {
      await this.#begin()
      const ended = await Promise.race([this.#along([]).then(ended => ended ?? never()), this.#quiescence.halted])
      for (const { telemetry } of this.#open) {
        if (ended.outcome !== 'done') telemetry.end(ended.outcome === 'handed-over' ? 'left' : 'paused')
      }
      return ended
    } finally {
      this.#quiescence.close()
      for (const execution of this.#open) execution.close(NODE_ENDED)
    }
  }

  /** Finds out where the workflow stands; where it stands nowhere, it begins. */
  async #begin(): Promise<void> {
    const work = this.#work
    this.#journal = await Journal.read(work.session, work.runId, this.#scope)
    const resumePoint =
      this.#journal.position || work.parent ? undefined : await readResumePoint(work.session, work.runId)
    const position = this.#journal.position ?? resumePoint?.position
    if (position) {
      this.#position = position
      this.#workflow = this.#named(position.program)
      mustHaveItsFork(position, this.#workflow)
      if (resumePoint) await this.#copyRecords(resumePoint)
      if (position.program !== this.#workflow.program) await this.#migrate()
      return
    }
    const given = work.parent ? this.#given : askedOf(work, this.#workflow)
    const lane = work.lane(0)
    this.#position = initialPosition(this.#workflow, await inputOf(this.#workflow, given))
    await lane.commit([...this.#beginning(lane), { chunk: checkpointOf(lane), lane }])
  }

  /** Keeps in this run what it takes over from another. */
  async #copyRecords(resumePoint: ResumePoint): Promise<void> {
    const lane = this.#positionLane()
    for (const batch of resumeBatches(resumePoint, lane, this.#beginning(lane))) {
      await lane.commit([...batch, { chunk: checkpointOf(lane), lane }])
    }
    this.#journal = new Journal(resumePoint.records, this.#scope)
  }

  /** Takes a run of another version over into this one: it stands where that says before any node runs, and waits for nothing that it has left. */
  async #migrate(): Promise<void> {
    const { session, writer, signal } = this.#work
    const before = this.#position
    const { position, replaced } = migrationOf(this.#workflow, before, this.#journal)
    const lane = this.#positionLane(position)
    const records = replaced.flatMap(({ execution }) => [...this.#journal.recordsOf(execution).values()])
    const ends = replaced.map(at => this.#closing(at, lane))
    await session.catchUp()
    await writer.decide(ticket => {
      signal.throwIfAborted()
      const settled = settlementOf(this.#work, records, lane, ticket)
      return [...settled, ...ends, ...this.#arriving(lane, position, before), { chunk: checkpointOf(lane), lane }]
    })
    for (const { execution } of replaced) this.#journal.forget(execution)
    this.#position = position
  }

  /** The lane on which is said where the workflow stands. */
  #positionLane({ line } = this.#position): Lane {
    return this.#work.lane(openExecutions(line)[0]?.step ?? 0)
  }

  /** What a run says first. */
  #beginning(lane: Lane): readonly BatchItem[] {
    const { parent, session } = this.#work
    const about: BatchItem[] = parent ? [] : [{ chunk: { type: 'session', sessionId: session.id }, lane }]
    return [...about, ...this.#arriving(lane)]
  }

  /** Works along a line until it ends, which is told, or comes to its join. */
  async #along(path: BranchPath): Promise<ExecutionResult | undefined> {
    this.#quiescence.begin()
    try {
      for (;;) {
        const line = branchAt(this.#position, path)
        if (line === undefined) return undefined
        if (isFork(line)) {
          // While its branches are at work it is not.
          this.#quiescence.end()
          const branches = Object.keys(line.branches).map(head => this.#along([...path, head]))
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

  /** Runs the execution that is open on a line to its end, however often it is tried; tells where the workflow ends with it. */
  async #execute(path: BranchPath, at: OpenExecution): Promise<ExecutionResult | undefined> {
    const end = this.#journal.endOf(at.execution)
    if (end) return this.#ended(at, this.#laneOf(path, at), end.value)
    const { budget } = this.#workflow
    if (at.step > budget.steps) {
      throw new BudgetError('budget_steps', `the run has come to ${at.step} nodes, and may come to ${budget.steps}`)
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
      const attempted = await telemetry.within(() => attemptNode(execution, node))
      if (attempted === undefined) return await this.#quiescence.handOver()
      const ended = await this.#settle(path, execution, node, attempted).catch(async error => {
        if (!(error instanceof NodeEndError)) throw error
        return this.#settle(path, execution, node, await failedAtEnd(execution, node, error))
      })
      telemetry.end('completed')
      return ended
    } catch (error) {
      const why = error instanceof NodeEndError ? error.cause : error
      telemetry.end('failed', why)
      throw why
    } finally {
      this.#open.delete(execution)
      execution.close(NODE_ENDED)
    }
  }

  async #settle(
    path: BranchPath,
    execution: NodeExecution,
    node: Node,
    attempted: NodeAttempt,
  ): Promise<ExecutionResult | undefined> {
    const { at } = execution
    if (attempted.outcome === 'again') {
      await this.#move(execution, position => positionAfterFailure(position, path))
      return undefined
    }
    const edges = this.#workflow.graph.digest
    if (attempted.outcome === 'routed') {
      const { to, failure } = attempted
      await this.#move(execution, position => positionAtNode({ ...position, edges }, path, to, failure))
      return undefined
    }
    const { condition, transitionTo } = attempted
    const { data = at.input } = attempted
    if (transitionTo !== undefined) return this.#transit(path, execution, transitionTo, data)
    const step = this.#workflow.graph.next(node.id, condition)
    if (step === undefined) {
      const isChanged = this.#position.edges !== edges
      throw new MillraceError(
        isChanged ? 'workflow_changed' : 'workflow_no_way',
        `node ${node.id} returned ${condition === undefined ? 'no condition' : `the condition ${condition}`}, and no edge is for that${isChanged ? ': its edges are not what they were when the run came there. Give the workflow another version' : ''}`,
      )
    }
    if (!('to' in step) || step.to !== 'end') {
      const on = step as Exclude<typeof step, { to: 'end' }>
      await this.#move(execution, position => positionAfterStep({ ...position, edges }, path, on, data))
      return undefined
    }
    // What it had received was not meant for whoever sees the output.
    return this.#ended(at, execution.lane, attempted.data)
  }

  /** A node that the run stands in. */
  #nodeOf(id: string): Node {
    const node = this.#workflow.nodes.get(id)
    if (node) return node
    throw new MillraceError('workflow_changed', `workflow ${this.#workflow.name} has no node ${id} any more`)
  }

  /** The end of the workflow, with what is left to be said of it. */
  async #ended(at: OpenExecution, lane: Lane, data: Json | undefined): Promise<ExecutionResult> {
    const { parent } = this.#work
    const checkpoint = checkpointOf(lane, true)
    const hookId = `${this.#scope}${at.execution}`
    const facts: BatchItem[] = [
      ...(data !== undefined && !parent ? [{ chunk: { type: 'output', output: data } as const, lane }] : []),
      // Who goes on from here has nothing left to do.
      hookRecordEntry({ hookId, hook: 'node', result: { ...(data !== undefined && { value: data }) } }, lane),
      { chunk: checkpoint, lane },
    ]
    if (!lane.fits(facts)) {
      const what = `node ${at.node} returned more data than the output of a run may be: return less, or a reference`
      throw new NodeEndError(what, { cause: new ValidationError(what) })
    }
    this.#work.checkpointId = checkpoint.checkpointId
    // Whom it works for is told its words, where it gives nothing.
    const output = data === undefined && parent ? (await this.#words()) || null : data
    const text = typeof output === 'string' ? output : ''
    return {
      outcome: 'done',
      facts,
      finishReason: 'stop',
      steps: at.step,
      text,
      ...(output !== undefined && { output }),
    }
  }

  /** All text that the workflow has said. */
  async #words(): Promise<string> {
    const { writer, session, runId, agentId } = this.#work
    await writer.flush()
    await session.refresh()
    const parts = session.message(runId, agentId)?.parts ?? []
    return parts.map(part => (part.type === 'text' && 'text' in part ? part.text : '')).join('')
  }

  async #transit(path: BranchPath, execution: NodeExecution, id: string, data: Json | undefined): Promise<undefined> {
    const { node } = execution.at
    if (path.length > 0) {
      throw new MillraceError(
        'workflow_no_way',
        `node ${node} is in a branch, and cannot go on with workflow ${id}: join first`,
      )
    }
    const next = this.#work.workflowOf(id)
    if (next === undefined) {
      throw new MillraceError(
        'workflow_no_way',
        `node ${node} goes on with workflow ${id}, and there is none by that id here`,
      )
    }
    // What nodes give each other may quote what no reader was to see.
    const input = await inputOf(next, data, true)
    const chunk: Chunk = { type: 'transition', transitionTo: id }
    await this.#move(execution, position => initialPosition(next, input, position), [{ chunk, lane: execution.lane }])
    this.#workflow = next
    return undefined
  }

  /** Commits the end of an execution, or of a try at it, together with where the workflow stands after it. */
  async #move(
    execution: NodeExecution,
    change: (position: WorkflowPosition) => WorkflowPosition,
    said: readonly BatchItem[] = [],
  ): Promise<void> {
    const { lane, at } = execution
    await this.#work.withCommitLock(async () => {
      this.#work.signal.throwIfAborted()
      const before = this.#position
      const after = change(this.#position)
      const isOver = !openExecutions(after.line).some(({ execution }) => execution === at.execution)
      const prepared = prepareEnd(execution)
      const closing = isOver ? [this.#closing(at, lane)] : []
      const entries = [
        ...said,
        ...prepared.entries,
        ...closing,
        ...this.#arriving(lane, after, before),
        { chunk: checkpointOf(lane, isOver), lane },
      ]
      await lane.commit(entries).catch(error => {
        if (logErrorCode(error) !== 'too-large') throw error
        const what = `what node ${at.node} returned exceeds the size limit of the log: return less, or a reference`
        throw new NodeEndError(what, { cause: new MillraceError('hook_result_too_large', what, { cause: error }) })
      })
      prepared.onCommitted()
      if (isOver) this.#journal.forget(at.execution)
      this.#position = after
    })
  }

  /** The record that an execution has ended: those below it are needed no more. */
  #closing({ execution }: OpenExecution, lane: Lane): BatchItem {
    const chunk = { type: 'hook-completed', hookId: `${this.#scope}${execution}`, hook: 'node' } as const
    return { chunk, lane, internal: true }
  }

  /** What is said of where a workflow stands: the line for people about each node that it comes to, and the record. */
  #arriving(lane: Lane, after = this.#position, before?: WorkflowPosition): BatchItem[] {
    const known = new Set(before ? openExecutions(before.line).map(({ execution }) => execution) : [])
    const workflow = this.#named(after.program)
    const fresh = openExecutions(after.line).filter(({ execution }) => !known.has(execution))
    const notes = fresh.map(({ node, step }): BatchItem => {
      const message = workflow.nodes.get(node)?.title ?? node
      return { chunk: { type: 'status', message }, lane, node, step }
    })
    const result = { value: after as unknown as Json }
    return [...notes, hookRecordEntry({ hookId: positionIdOf(this.#scope), hook: 'position', result }, lane)]
  }

  #laneOf(path: BranchPath, { node, step }: OpenExecution): Lane {
    const main = this.#work.lane(step).origin
    let name = main.lane
    for (let depth = 0; depth < path.length; depth++) {
      const line = branchAt(this.#position, path.slice(0, depth)) as { readonly fork: string }
      name = `${name}/${line.fork}.${path[depth]}`
    }
    return this.#work.writer.lane({ ...main, lane: name, node })
  }

  #named(program: string): Workflow {
    return workflowNamed(program, this.#workflow, id => this.#work.workflowOf(id))
  }
}

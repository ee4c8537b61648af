// Executes a call of a sub-agent: another agent or a workflow runs in the same run, on its own lane. Its result is
// the outcome of the call.

import { type BatchItem, type Lane, LogError } from '@millrace/log'
import { MAX_TIMER_MS } from '@millrace/log/internal'
import type { Chunk, Json, Message } from '@millrace/protocol'
import { excerpt } from '@millrace/protocol/internal'
import { unlessAborted } from '../../async/unless-aborted.ts'
import type { Program } from '../../define/program.ts'
import type { SubAgent } from '../../define/sub-agent.ts'
import { BudgetError, type MillraceError, ToolError } from '../../error/error.ts'
import { deepCopy } from '../../schema/deep-copy.ts'
import { validate } from '../../schema/schema.ts'
import type { AgentTelemetry } from '../../telemetry/agent-span.ts'
import type { ToolCallTelemetry } from '../../telemetry/tool-span.ts'
import type { ExecutionResult, Halt } from '../executor.ts'
import { incompleteAnswerItems } from '../incomplete-answer-error.ts'
import { agentOutput } from '../output-stream.ts'
import { type AgentExecution, callLane, checkpointOf, type ProgramExecution } from '../program-execution.ts'
import { recordEnds } from '../record-scope.ts'
import { failureOf, subAgentEnds } from '../run-end.ts'
import { appendUnlessStopped, outcomeBatch, outcomeRefusal, type ToolCallSettings } from './call-commit.ts'
import { failedOutcome, type Outcome } from './outcome.ts'
import { noteWorkflowWait, subAgentId } from './sub-agent-wait.ts'

/** Maximum length of a result that is repeated in the end of the sub-agent, in characters of JSON. The call has all of it. */
export const MAX_REPEATED_RESULT_LENGTH = 16 * 1024

/** Aborts the remaining work of an ended sub-agent. */
const ENDED = new ToolError('the sub-agent has ended')

/** Telemetry status of a sub-agent that is not done. */
const STATUSES = { waiting: 'paused', 'handed-over': 'left' } as const

/** The spans of a sub-agent and of its call. */
interface DelegationSpans {
  readonly agent: AgentTelemetry
  readonly call: ToolCallTelemetry
}

/** Runs a sub-agent for a call from its current position and commits the outcome. Returns why there is no outcome yet, if so. */
export async function delegate(
  settings: ToolCallSettings,
  sub: SubAgent,
  call: ToolCallTelemetry,
): Promise<Halt | undefined> {
  const { work } = settings
  const controller = new AbortController()
  const abort = () => controller.abort(work.signal.reason)
  work.signal.addEventListener('abort', abort, { once: true })
  const agentId = subAgentId(work.runId, sub.program.name, settings.call.toolCallId)
  const telemetry = work.telemetry.agent(sub.program, agentId, call)
  const spans = { agent: telemetry, call }
  let cancelTime: (() => void) | undefined
  try {
    // Starts the time limit before any work.
    cancelTime = await startTimeLimit(work, sub.program, agentId, controller)
    const child = await unlessAborted(startChild(settings, sub, controller.signal, telemetry), controller.signal)
    const ended = await unlessAborted(
      telemetry.within(() => child.run()),
      controller.signal,
    )
    if (ended.outcome !== 'done') {
      if (ended.outcome === 'waiting' && sub.program.kind === 'workflow') {
        noteWorkflowWait(work.session, agentId, ended)
      }
      telemetry.end(STATUSES[ended.outcome])
      call.suspend(STATUSES[ended.outcome])
      return ended
    }
    await commitResult(settings, child, ended, spans)
  } catch (error) {
    work.signal.throwIfAborted()
    // Errors of the log do not concern this agent.
    if (error instanceof LogError) throw error
    // Prevents its sub-agents from starting new work.
    controller.abort(error)
    const failure = failureOf(error)
    const { toolCallId } = settings.call
    work.logger.warn('a sub-agent failed', { runId: work.runId, toolCallId, code: failure.code, cause: error })
    await commitEnd(settings, sub, incompleteAnswerItems(error), failure, failureOutcome(settings, failure), spans)
  } finally {
    cancelTime?.()
    work.signal.removeEventListener('abort', abort)
    // Stops its remaining work.
    controller.abort(ENDED)
  }
  return undefined
}

/** A started sub-agent: its lane, and a function that runs it from its current position. */
interface Child {
  lane(step: number): Lane
  run(): Promise<ExecutionResult>
}

/** Starts a sub-agent, or continues a started one. */
async function startChild(
  settings: ToolCallSettings,
  sub: SubAgent,
  signal: AbortSignal,
  telemetry: AgentTelemetry,
): Promise<Child> {
  const { work, step, call } = settings
  const { session, writer, runId } = work
  const { program } = sub
  const agentId = subAgentId(runId, program.name, call.toolCallId)
  const input = await promptFor(sub, call.input)
  const lane = callLane(work, step, call.toolCallId)
  if (!session.hasAgent(runId, agentId)) await commitStart(settings, program, lane, signal)
  await session.current()
  const { handover, context, data, timers, backoff, modelLimits, formChecks, logger } = work
  const { ticketChanged, clock, commitLock, executor, workflowOf } = work
  const execution: ProgramExecution = {
    program,
    session,
    writer,
    runId,
    agentId,
    parent: work,
    signal,
    handover,
    checkpointId: undefined,
    context,
    data,
    timers,
    backoff,
    modelLimits,
    formChecks,
    logger,
    telemetry,
    ticketChanged,
    clock,
    commitLock,
    executor,
    workflowOf,
    lane: (step, model) =>
      writer.lane({
        lane: lane.origin.lane,
        agentId,
        agentType: program.name,
        step,
        ...(model !== undefined && { model }),
      }),
  }
  if (program.kind === 'workflow')
    return { lane: execution.lane, run: () => executor.runWorkflow(execution, program, input) }
  const task = taskMessage(agentId, input as string, session.head)
  const agentExecution: AgentExecution = {
    ...execution,
    agent: program,
    history: async () => [task, ...(await session.agentHistory(runId, agentId))],
    message: () => session.message(runId, agentId),
    output: agentOutput(program, runId, agentId),
  }
  return { lane: execution.lane, run: () => executor.runAgent(agentExecution) }
}

/** The input of the sub-agent. */
async function promptFor(
  { name, program, inputSchema: schema, prompt }: SubAgent,
  input: Json | undefined,
): Promise<Json> {
  const parsed = await validate(schema, deepCopy(input))
  if ('problem' in parsed)
    throw new ToolError(`the input does not match its schema: ${parsed.problem}`, { cause: parsed.cause })
  if (prompt === undefined) return deepCopy(input) ?? null
  const built: unknown = await prompt(parsed.value)
  const takesText = program.kind === 'agent' || program.inputSchema === undefined
  if (takesText && typeof built !== 'string') {
    throw new ToolError(`the prompt of ${name}: expected a string, found ${typeof built}`)
  }
  return built as Json
}

/** Commits the start of a sub-agent. */
async function commitStart(
  { work, call }: ToolCallSettings,
  program: Program,
  lane: Lane,
  signal: AbortSignal,
): Promise<void> {
  const { session, runId } = work
  const { toolCallId } = call
  const { name: agentType } = program
  const agentId = subAgentId(runId, agentType, toolCallId)
  await work.commitLock.run(async () => {
    // An ended run starts no sub-agent.
    signal.throwIfAborted()
    const start: Chunk = { type: 'subagent-start', agentId, agentType, toolCallId, lane: lane.origin.lane }
    const initial = program.kind === 'agent' ? program.initialState : undefined
    const state: Chunk[] =
      initial === undefined || session.state !== undefined ? [] : [{ type: 'state-snapshot', state: initial }]
    const batch = [start, ...state, checkpointOf(lane, false)]
    if (!lane.fits(batch))
      throw new ToolError(
        `the initial state of agent ${agentType} exceeds the size limit of the log: make it smaller, or store a reference`,
      )
    await lane.commit(batch)
  })
}

/** The task of a sub-agent as a message. It is not in the session, because the call contains it. */
const taskMessage = (agentId: string, text: string, at: number): Message => ({
  id: `${agentId}::task`,
  role: 'user',
  status: 'sent',
  at,
  createdAt: 0,
  parts: [{ type: 'text', key: 'task', at, id: 'task', text, state: 'done' }],
})

/** Aborts a sub-agent when its time is over. @throws {BudgetError} if it is over already. */
async function startTimeLimit(
  { session, runId, timers, clock }: AgentExecution,
  { budget: { timeMs }, name, kind }: Program,
  agentId: string,
  controller: AbortController,
): Promise<() => void> {
  const remainingMs =
    timeMs === Number.POSITIVE_INFINITY ? timeMs : timeMs - (await session.activeTime(runId, agentId, clock()))
  if (remainingMs > MAX_TIMER_MS) return () => {}
  const timeBudgetError = () =>
    new BudgetError('budget_time', `${kind} ${name} has taken longer than ${timeMs} ms: raise its budget.timeMs`)
  if (remainingMs <= 0) throw timeBudgetError()
  return timers.after(remainingMs, () => controller.abort(timeBudgetError()), true)
}

async function commitResult(
  settings: ToolCallSettings,
  child: Child,
  ended: Extract<ExecutionResult, { outcome: 'done' }>,
  spans: DelegationSpans,
): Promise<void> {
  const { call, tools } = settings
  const { toolCallId } = call
  // A finishing tool may return null.
  const output: Json = ended.output === undefined ? ended.text : ended.output
  const chunk: Chunk = { type: 'tool-output-available', toolCallId, output, executor: 'server' }
  const last: BatchItem = { chunk: { type: 'finish', finishReason: ended.finishReason }, lane: child.lane(ended.steps) }
  const sub = tools.get(call.toolName) as SubAgent
  try {
    await commitEnd(settings, sub, [...ended.finalItems, last], output, { chunk }, spans)
  } catch (error) {
    const refusal = outcomeRefusal(error)
    if (refusal === undefined) throw error
    await commitEnd(
      settings,
      sub,
      [...ended.finalItems, last],
      refusal,
      failedOutcome(settings.work, call, refusal),
      spans,
    )
  }
}

function failureOutcome({ work, call }: ToolCallSettings, failure: MillraceError): Outcome {
  const error = new ToolError(`${call.toolName} failed: ${excerpt(failure.message)}`, { code: 'subagent_failed' })
  return failedOutcome(work, call, error)
}

/** Commits the end of a sub-agent with the outcome of its call, and ends their spans. */
async function commitEnd(
  settings: ToolCallSettings,
  sub: SubAgent,
  before: readonly BatchItem[],
  result: Json | MillraceError,
  outcome: Outcome,
  spans: DelegationSpans,
): Promise<void> {
  const { work, step, call } = settings
  const { session, writer, runId } = work
  const { toolCallId } = call
  const agentType = sub.program.name
  const agentId = subAgentId(runId, agentType, toolCallId)
  const lane = callLane(work, step, toolCallId)
  const failure = result instanceof Error ? result : undefined
  const fields = { type: 'subagent-end', agentId, agentType, toolCallId } as const
  const chunk: Chunk =
    result instanceof Error
      ? { ...fields, status: 'failed', reason: excerpt(result.message) }
      : { ...fields, status: 'completed', ...(isShort(result) && { result }) }
  await work.commitLock.run(async () => {
    work.signal.throwIfAborted()
    // A sub-agent that never started has no end.
    const ends: BatchItem[] = session.hasAgent(runId, agentId) ? [{ chunk, lane }] : []
    // A completed sub-agent has waited for all of its own.
    const childEnds = failure ? subAgentEnds(session, writer, 'interrupted', agent => agent.parentId === agentId) : []
    // The hook results of the workflow are not needed any more.
    const records = sub.program.kind === 'workflow' ? recordEnds(session, { runId, agentId }, lane) : []
    await appendUnlessStopped(work, () => [
      ...before,
      ...records,
      ...outcomeBatch(settings, outcome, [], [...childEnds, ...ends]),
    ])
  })
  spans.agent.end(failure ? 'failed' : 'completed', failure)
  spans.call.settle(outcome.chunk)
}

const isShort = (result: Json): boolean => JSON.stringify(result).length <= MAX_REPEATED_RESULT_LENGTH

// A call of a sub-agent: another agent or a workflow at work in the same run, on a lane of its own, until its outcome is that of the call.

import { type BatchItem, type Lane, LogError } from '@millrace/log'
import type { Chunk, Json, Message } from '@millrace/protocol'
import { MAX_TIMER_MS } from '../../async/max-timer-ms.ts'
import { unlessAborted } from '../../async/unless-aborted.ts'
import type { Program } from '../../define/program.ts'
import type { SubAgent } from '../../define/sub-agent.ts'
import { BudgetError, type MillraceError, ToolError } from '../../error/error.ts'
import { excerpt } from '../../error/excerpt.ts'
import { deepCopy } from '../../schema/deep-copy.ts'
import { validate } from '../../schema/schema.ts'
import type { AgentTelemetry } from '../../telemetry/agent-span.ts'
import type { ToolCallTelemetry } from '../../telemetry/tool-span.ts'
import type { Ended, Halt } from '../executor.ts'
import { agentOutput } from '../output-stream.ts'
import { type AgentExecution, callLane, checkpointOf, type ProgramExecution } from '../program-execution.ts'
import { recordEnds } from '../record-scope.ts'
import { failureOf, subAgentEnds } from '../run-end.ts'
import { appendUnlessStopped, outcomeBatch, outcomeRefusal, type ToolCallSettings } from './call-commit.ts'
import { failed, type Outcome } from './outcome.ts'
import { noteWorkflowWait, subAgentId } from './sub-agent-wait.ts'

/** So much of a result is told again with the end of the sub-agent; the call has all of it. */
export const LONGEST_RESULT = 16 * 1024
/** Timers know no times beyond this. */

/** Why what still works for a sub-agent is cut off. */
const ENDED = new ToolError('the sub-agent is not at work any more')

/** What is told of why an agent is not done. */
const STATUSES = { waiting: 'paused', left: 'left' } as const

/** Who is told of a sub-agent's work, and of the call that it works for. */
interface DelegationSpans {
  readonly agent: AgentTelemetry
  readonly call: ToolCallTelemetry
}

/** Lets a sub-agent work for a call, from wherever it stands, and commits what came of it; tells why there is no outcome yet, if there is none. */
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
  const told = { agent: telemetry, call }
  let cancelTime: (() => void) | undefined
  try {
    // Before anything of it begins.
    cancelTime = await limitTime(work, sub.program, agentId, controller)
    const child = await unlessAborted(begin(settings, sub, controller.signal, telemetry), controller.signal)
    const ended = await unlessAborted(
      telemetry.within(() => child.work()),
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
    await finish(settings, child, ended, told)
  } catch (error) {
    work.signal.throwIfAborted()
    // What is wrong with the log is not about this agent.
    if (error instanceof LogError) throw error
    // Nothing that works for it begins any more.
    controller.abort(error)
    const failure = failureOf(error)
    const { toolCallId } = settings.call
    work.logger.warn('a sub-agent failed', { runId: work.runId, toolCallId, code: failure.code, cause: error })
    await end(settings, sub, [], failure, failureOutcome(settings, failure), told)
  } finally {
    cancelTime?.()
    work.signal.removeEventListener('abort', abort)
    // What still works for it works for nobody.
    controller.abort(ENDED)
  }
  return undefined
}

/** A sub-agent that has begun: its lane, and its work from wherever it stands. */
interface Child {
  lane(step: number): Lane
  work(): Promise<Ended>
}

/** Says that the sub-agent begins, unless that was said before. */
async function begin(
  settings: ToolCallSettings,
  sub: SubAgent,
  signal: AbortSignal,
  telemetry: AgentTelemetry,
): Promise<Child> {
  const { work, step, call } = settings
  const { session, writer, runId } = work
  const { program } = sub
  const agentId = subAgentId(runId, program.name, call.toolCallId)
  const told = await promptFor(sub, call.input)
  const lane = callLane(work, step, call.toolCallId)
  if (!session.hasAgent(runId, agentId)) await open(settings, program, lane, signal)
  await session.refresh()
  const { handover, context, data, timers, backoff, logger, ticketChanged, clock, turn, executor, workflowOf } = work
  const working: ProgramExecution = {
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
    logger,
    telemetry,
    ticketChanged,
    clock,
    turn,
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
    return { lane: working.lane, work: () => executor.runWorkflow(working, program, told) }
  const task = taskMessage(agentId, told as string, session.head)
  const own: AgentExecution = {
    ...working,
    agent: program,
    history: async () => [task, ...(await session.agentHistory(runId, agentId))],
    message: () => session.message(runId, agentId),
    output: agentOutput(program, runId, agentId),
  }
  return { lane: own.lane, work: () => executor.runAgent(own) }
}

/** What a sub-agent is told. */
async function promptFor(
  { name, program, inputSchema: schema, prompt }: SubAgent,
  input: Json | undefined,
): Promise<Json> {
  const taken = await validate(schema, deepCopy(input))
  if ('problem' in taken) throw new ToolError(`the input does not fit: ${taken.problem}`, { cause: taken.cause })
  if (prompt === undefined) return deepCopy(input) ?? null
  const told: unknown = await prompt(taken.value)
  const takesText = program.kind === 'agent' || program.input === undefined
  if (takesText && typeof told !== 'string') {
    throw new ToolError(`the prompt of ${name} is no text: expected a string, found ${typeof told}`)
  }
  return told as Json
}

/** Says that a sub-agent begins. */
async function open(
  { work, call }: ToolCallSettings,
  program: Program,
  lane: Lane,
  signal: AbortSignal,
): Promise<void> {
  const { session, runId } = work
  const { toolCallId } = call
  const { name: agentType } = program
  const agentId = subAgentId(runId, agentType, toolCallId)
  await work.turn(async () => {
    await session.refresh()
    // Nobody begins after the end.
    signal.throwIfAborted()
    const start: Chunk = { type: 'subagent-start', agentId, agentType, toolCallId, lane: lane.origin.lane }
    const initial = program.kind === 'agent' ? program.initialState : undefined
    const state: Chunk[] =
      initial === undefined || session.state !== undefined ? [] : [{ type: 'state-snapshot', state: initial }]
    const batch = [start, ...state, checkpointOf(lane, false)]
    if (!lane.fits(batch)) throw new ToolError(`the initial state of agent ${agentType} is larger than the log takes`)
    await lane.commit(batch)
  })
}

/** What a sub-agent was told, as a message; it is in nobody's session but the call says it. */
const taskMessage = (agentId: string, text: string, at: number): Message => ({
  id: `${agentId}::task`,
  role: 'user',
  status: 'sent',
  at,
  createdAt: 0,
  parts: [{ type: 'text', key: 'task', at, id: 'task', text, state: 'done' }],
})

/** Ends a sub-agent when its time is over; throws where it is. */
async function limitTime(
  { session, runId, timers, clock }: AgentExecution,
  { budget: { time }, name, kind }: Program,
  agentId: string,
  controller: AbortController,
): Promise<() => void> {
  const left = time === Number.POSITIVE_INFINITY ? time : time - (await session.activeTime(runId, agentId, clock()))
  if (left > MAX_TIMER_MS) return () => {}
  const overtime = () => new BudgetError('budget_time', `${kind} ${name} has taken longer than ${time} ms`)
  if (left <= 0) throw overtime()
  return timers.after(left, () => controller.abort(overtime()), true)
}

async function finish(
  settings: ToolCallSettings,
  child: Child,
  ended: Extract<Ended, { outcome: 'done' }>,
  told: DelegationSpans,
): Promise<void> {
  const { call, tools } = settings
  const { toolCallId } = call
  // That of a finishing tool may be null.
  const output: Json = ended.output === undefined ? ended.text : ended.output
  const chunk: Chunk = { type: 'tool-output-available', toolCallId, output, executor: 'server' }
  const last: BatchItem = { chunk: { type: 'finish', finishReason: ended.finishReason }, lane: child.lane(ended.steps) }
  const sub = tools.get(call.toolName) as SubAgent
  try {
    await end(settings, sub, [...ended.facts, last], output, { chunk }, told)
  } catch (error) {
    const refusal = outcomeRefusal(error)
    if (refusal === undefined) throw error
    await end(settings, sub, [...ended.facts, last], refusal, failed(settings.work, call, refusal), told)
  }
}

function failureOutcome({ work, call }: ToolCallSettings, failure: MillraceError): Outcome {
  const told = new ToolError(`${call.toolName} failed: ${excerpt(failure.message)}`, { code: 'subagent_failed' })
  return failed(work, call, told)
}

/** Ends a sub-agent together with the call that it worked for; what is told of both is what was committed. */
async function end(
  settings: ToolCallSettings,
  sub: SubAgent,
  before: readonly BatchItem[],
  result: Json | MillraceError,
  outcome: Outcome,
  told: DelegationSpans,
): Promise<void> {
  const { work, step, call } = settings
  const { session, writer, runId } = work
  const { toolCallId } = call
  const agentType = sub.program.name
  const agentId = subAgentId(runId, agentType, toolCallId)
  const lane = callLane(work, step, toolCallId)
  const failure = result instanceof Error ? result : undefined
  const who = { type: 'subagent-end', agentId, agentType, toolCallId } as const
  const chunk: Chunk =
    result instanceof Error
      ? { ...who, status: 'failed', reason: excerpt(result.message) }
      : { ...who, status: 'completed', ...(isShort(result) && { result }) }
  await work.turn(async () => {
    work.signal.throwIfAborted()
    await session.refresh()
    // One that never began has no end.
    const ends: BatchItem[] = session.hasAgent(runId, agentId) ? [{ chunk, lane }] : []
    // One that is done waited for all of its own.
    const below = failure ? subAgentEnds(session, writer, 'interrupted', agent => agent.parentId === agentId) : []
    // What the hooks of a workflow gave nobody asks for any more.
    const records = sub.program.kind === 'workflow' ? recordEnds(session, { runId, agentId }, lane) : []
    await appendUnlessStopped(work, () => [
      ...before,
      ...records,
      ...outcomeBatch(settings, outcome, [], [...below, ...ends]),
    ])
  })
  told.agent.end(failure ? 'failed' : 'completed', failure)
  told.call.settle(outcome.chunk)
}

const isShort = (result: Json): boolean => JSON.stringify(result).length <= LONGEST_RESULT

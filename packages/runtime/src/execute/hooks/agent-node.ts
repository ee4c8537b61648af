// Runs an agent as a node of a workflow: on a lane of the node, in the workflow's message, with the agent's own limits.

import { MAX_TIMER_MS } from '@millrace/log/internal'
import type { Json } from '@millrace/protocol'
import type { Agent } from '../../define/agent.ts'
import { BudgetError, MillraceError } from '../../error/error.ts'
import { outputFields } from '../output-fields.ts'
import type { HookCall, HookOutcome, NodeExecution } from '../replay/execution.ts'
import { checkpointOf, hookStreamId } from '../replay/journal.ts'
import { type ReasonSettings, reason } from './reason.ts'
import { messagesOf } from './reason-input.ts'

/** Sends a prompt to an agent and returns its output and the text of its last step. */
export async function runAgentNode(
  execution: NodeExecution,
  agent: Agent,
  prompt: string,
): Promise<{ readonly output: Json | undefined; readonly text: string }> {
  const live = async (call: HookCall): Promise<HookOutcome> => {
    await setInitialState(call, agent)
    const abortSignal = await startTimeLimit(call, agent)
    const messages = messagesOf(prompt)
    const { entries, text, output } = await reason(call, {
      agent,
      messages,
      isShown: true,
      pass: 1,
      isSideTextShown: true,
      abortSignal,
      ...outputOf(call, agent),
    })
    return { value: { text, ...(output !== undefined && { output }) }, entries }
  }
  const value = await execution.call('agent', agent.name, live, agent)
  const { text, output } = value as { readonly text: string; readonly output?: Json }
  return { text, output }
}

/** The output of the agent, streamed to readers like that of an agent's own run. */
function outputOf(
  { hookId, execution }: HookCall,
  { name, outputSchema, jsonSchema }: Agent,
): Pick<ReasonSettings, 'output'> {
  if (outputSchema === undefined || jsonSchema === undefined) return {}
  const { work, at } = execution
  const streamId = hookStreamId(work.runId, hookId)
  return {
    output: {
      schema: outputSchema,
      identity: { streamId, dataType: name, node: at.node },
      fields: Object.fromEntries(outputFields(jsonSchema)),
    },
  }
}

/** Sets the agent's initial state if the session has no state. */
async function setInitialState({ execution, lane }: HookCall, { name, initialState }: Agent): Promise<void> {
  const { session, commitLock, signal } = execution.work
  if (initialState === undefined) return
  await commitLock.run(async () => {
    signal.throwIfAborted()
    execution.signal.throwIfAborted()
    if (session.state !== undefined) return
    const batch = [{ type: 'state-snapshot', state: initialState } as const, checkpointOf(lane)]
    if (!lane.fits(batch)) {
      throw new MillraceError(
        'tool_state_refused',
        `the initial state of agent ${name} exceeds the size limit of the log: make it smaller, or store a reference`,
      )
    }
    await lane.commit(batch)
  })
}

/** Aborted when the agent's time is over; undefined without a limit. @throws {BudgetError} if it is over already. */
async function startTimeLimit(call: HookCall, { name, budget: { timeMs } }: Agent): Promise<AbortSignal | undefined> {
  const { session, runId, timers, clock } = call.execution.work
  if (timeMs === Number.POSITIVE_INFINITY) return undefined
  const remainingMs = timeMs - (await session.hookActiveTime(runId, call.lane.origin, clock()))
  if (remainingMs > MAX_TIMER_MS) return undefined
  const timeBudgetError = () =>
    new BudgetError('budget_time', `agent ${name} has taken longer than ${timeMs} ms: raise its budget.timeMs`)
  if (remainingMs <= 0) throw timeBudgetError()
  const controller = new AbortController()
  const cancel = timers.after(remainingMs, () => controller.abort(timeBudgetError()), true)
  // Also while the node waits and its calls do not end here.
  call.signal.addEventListener('abort', cancel, { once: true })
  return controller.signal
}

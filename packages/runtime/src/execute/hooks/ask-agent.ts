// An agent as a node of a workflow: it works on a lane of the node, in the workflow's own message, within bounds of its own.

import type { Json } from '@millrace/protocol'
import { MAX_TIMER_MS } from '../../async/max-timer-ms.ts'
import type { Agent } from '../../define/agent.ts'
import { BudgetError, MillraceError } from '../../error/error.ts'
import { outputFields } from '../output-fields.ts'
import type { HookCall, HookOutcome, NodeExecution } from '../replay/execution.ts'
import { checkpointOf, hookStreamId } from '../replay/journal.ts'
import { messagesOf } from './input.ts'
import { type ReasonSettings, reason } from './reason.ts'

/** Timers know no times beyond this. */

/** Tells an agent something, and gives its output, or what it said last. */
export async function askAgent(
  execution: NodeExecution,
  agent: Agent,
  prompt: string,
): Promise<{ readonly output: Json | undefined; readonly text: string }> {
  const live = async (call: HookCall): Promise<HookOutcome> => {
    await giveState(call, agent)
    const abortSignal = await limitTime(call, agent)
    const messages = messagesOf(prompt)
    const { said, text, output } = await reason(call, {
      agent,
      messages,
      isShown: true,
      pass: 1,
      areAsidesShown: true,
      abortSignal,
      ...outputOf(call, agent),
    })
    return { value: { text, ...(output !== undefined && { output }) }, entries: said }
  }
  const value = await execution.call('agent', agent.name, live, agent)
  const { text, output } = value as { readonly text: string; readonly output?: Json }
  return { text, output }
}

/** The output of an agent, which readers see while it comes to be, as they do where the run is the agent's own. */
function outputOf({ hookId, execution }: HookCall, { name, output }: Agent): Pick<ReasonSettings, 'output'> {
  if (output === undefined) return {}
  const { work, at } = execution
  const streamId = hookStreamId(work.runId, hookId)
  return {
    output: {
      schema: output.schema,
      identity: { streamId, dataType: name, node: at.node },
      fields: Object.fromEntries(outputFields(output.jsonSchema)),
    },
  }
}

/** The state that an agent begins with, where the session has none. */
async function giveState({ execution, lane }: HookCall, { name, initialState }: Agent): Promise<void> {
  const { session, withCommitLock: turn, signal } = execution.work
  if (initialState === undefined) return
  await turn(async () => {
    await session.refresh()
    signal.throwIfAborted()
    execution.signal.throwIfAborted()
    if (session.state !== undefined) return
    const batch = [{ type: 'state-snapshot', state: initialState } as const, checkpointOf(lane)]
    if (!lane.fits(batch)) {
      throw new MillraceError(
        'tool_state_refused',
        `the initial state of agent ${name} exceeds the size limit of the log`,
      )
    }
    await lane.commit(batch)
  })
}

/** Aborted when the agent's own time is over; none, where it has no bound. */
async function limitTime(call: HookCall, { name, budget: { time } }: Agent): Promise<AbortSignal | undefined> {
  const { session, runId, timers, clock } = call.execution.work
  if (time === Number.POSITIVE_INFINITY) return undefined
  const left = time - (await session.hookActiveTime(runId, call.lane.origin, clock()))
  if (left > MAX_TIMER_MS) return undefined
  const overtime = () => new BudgetError('budget_time', `agent ${name} has taken longer than ${time} ms`)
  if (left <= 0) throw overtime()
  const controller = new AbortController()
  const cancel = timers.after(left, () => controller.abort(overtime()), true)
  // Also where the node waits, and nothing of it comes to an end here.
  call.signal.addEventListener('abort', cancel, { once: true })
  return controller.signal
}

// Executes the open calls of a step: some in parallel, while others wait for an answer and continue when it arrives.

import { MAX_TIMER_MS } from '@millrace/log/internal'
import type { ToolPart } from '@millrace/protocol'
import type { Callable } from '../../define/tool.ts'
import { currentPosition } from '../agent-position.ts'
import type { Halt } from '../executor.ts'
import type { AgentExecution } from '../program-execution.ts'
import type { ToolCallSettings } from '../tool/call-commit.ts'
import { callNeedOf } from '../tool/call-need.ts'
import { denyCall, executeCall, expireCall } from '../tool/execute-call.ts'

/**
 * Executes the open calls of a step until all have an outcome. Returns why some have none, if nothing more can be done
 * here.
 */
export async function runCalls(
  work: AgentExecution,
  step: number,
  tools: ReadonlyMap<string, Callable>,
): Promise<Halt | undefined> {
  const { agent, session, ticketChanged } = work
  const active = new Map<string, Promise<void>>()
  /** Active calls that have ended. Their outcome is known after the next read of the session. */
  const ended = new Set<string>()
  /** Why started calls cannot continue. */
  const halted = new Map<string, Halt>()
  // Changes since the session was read are unknown.
  let seenChanges = -1
  const start = (call: ToolPart, run: () => Promise<Halt | undefined>): void => {
    const { toolCallId } = call
    halted.delete(toolCallId)
    const { count } = ticketChanged
    const done = run().then(halt => {
      ended.add(toolCallId)
      // It may not have seen answers that arrived after its start, so it is tried again.
      if (halt?.outcome === 'handed-over' || (halt && ticketChanged.count === count)) halted.set(toolCallId, halt)
    })
    active.set(toolCallId, done)
    // An error ends the run here: the other calls see the abort signal, and are not awaited.
    done.catch(() => {})
  }
  for (;;) {
    work.signal.throwIfAborted()
    const endedBeforeRead = [...ended]
    const { open } = await currentPosition(work)
    for (const toolCallId of endedBeforeRead) {
      ended.delete(toolCallId)
      active.delete(toolCallId)
    }
    if (open.length === 0 && active.size === 0) return undefined
    const on: string[] = []
    let earliest = Number.POSITIVE_INFINITY
    let isHandedOver = false
    for (const call of open) {
      const { toolCallId } = call
      if (active.has(toolCallId)) continue
      let halt = halted.get(toolCallId)
      if (halt?.outcome === 'waiting' && halt.until <= work.clock()) halt = undefined
      const need = callNeedOf(call)
      const settings = { work, step, call, tools }
      if (halt?.outcome === 'handed-over') isHandedOver = true
      else if (halt) {
        on.push(...halt.on)
        earliest = Math.min(earliest, halt.until)
      } else if (need.for === 'answer') {
        const { pending, deadline = Number.POSITIVE_INFINITY } = need
        if (deadline <= work.clock()) start(call, () => expire(settings, pending))
        else {
          on.push(pending)
          earliest = Math.min(earliest, deadline)
        }
      } else if (work.handover.aborted) isHandedOver = true
      else if (active.size < agent.parallelCalls) {
        start(call, () => (need.for === 'denial' ? denyCall(settings) : executeCall(settings)))
      }
    }
    if (active.size === 0)
      return isHandedOver ? { outcome: 'handed-over' } : { outcome: 'waiting', on, until: earliest }
    const hasChanged = await waitForChange(work, active.values(), on.length > 0 ? seenChanges : undefined, earliest)
    if (!hasChanged) continue
    // An answer may unblock any waiting call.
    seenChanges = ticketChanged.count
    await session.catchUp()
    for (const [toolCallId, { outcome }] of halted) if (outcome === 'waiting') halted.delete(toolCallId)
  }
}

async function expire(settings: ToolCallSettings, pending: string): Promise<undefined> {
  await expireCall(settings, pending)
  // The session shows whether an answer was faster. It also corrects a local clock that is ahead of the store's.
  await settings.work.session.catchUp()
}

/** Waits until a call ends, the ticket changes, or a deadline passes. Returns whether the ticket changed. */
async function waitForChange(
  { ticketChanged, timers, clock }: AgentExecution,
  active: Iterable<Promise<void>>,
  seenChanges: number | undefined,
  deadline: number,
): Promise<boolean> {
  const others: Promise<boolean>[] = []
  let cancel: (() => void) | undefined
  if (seenChanges !== undefined) others.push(ticketChanged.after(seenChanges).then(() => true))
  if (Number.isFinite(deadline)) {
    const delayMs = Math.min(Math.max(deadline - clock(), 1), MAX_TIMER_MS)
    others.push(new Promise(resolve => (cancel = timers.after(delayMs, () => resolve(false), true))))
  }
  try {
    return await Promise.race([...[...active].map(done => done.then(() => false)), ...others])
  } finally {
    cancel?.()
  }
}

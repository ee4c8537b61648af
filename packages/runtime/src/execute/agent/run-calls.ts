// The open calls of a step: those that can run do, some at a time, while others wait for somebody; who is answered goes on meanwhile.

import type { ToolPart } from '@millrace/protocol'
import { MAX_TIMER_MS } from '../../async/max-timer-ms.ts'
import type { Callable } from '../../define/tool.ts'
import { positionOf } from '../agent-position.ts'
import type { Halt } from '../executor.ts'
import type { AgentExecution } from '../program-execution.ts'
import type { ToolCallSettings } from '../tool/call-commit.ts'
import { denyCall, executeCall, expireCall } from '../tool/execute-call.ts'
import { needOf } from '../tool/need.ts'

/** Runs the open calls of a step until all have an outcome; tells why some have none, if nothing more can be done about them here. */
export async function runCalls(
  work: AgentExecution,
  step: number,
  tools: ReadonlyMap<string, Callable>,
): Promise<Halt | undefined> {
  const { agent, session, ticketChanged } = work
  const active = new Map<string, Promise<void>>()
  /** Those of them that are at their end: only who reads the session after that knows their outcome. */
  const ended = new Set<string>()
  /** What keeps calls that were begun from going on. */
  const halted = new Map<string, Halt>()
  // Nobody knows what has moved since the session was read.
  let heard = -1
  const start = (call: ToolPart, run: () => Promise<Halt | undefined>): void => {
    const { toolCallId } = call
    halted.delete(toolCallId)
    const { count } = ticketChanged
    const done = run().then(halt => {
      ended.add(toolCallId)
      // What was answered since it began it may not have seen: then it looks again.
      if (halt?.outcome === 'left' || (halt && ticketChanged.count === count)) halted.set(toolCallId, halt)
    })
    active.set(toolCallId, done)
    // One that throws is the end of the run here: the others see it by the signal, and nobody waits for them.
    done.catch(() => {})
  }
  for (;;) {
    work.signal.throwIfAborted()
    const known = [...ended]
    await session.refresh()
    for (const toolCallId of known) {
      ended.delete(toolCallId)
      active.delete(toolCallId)
    }
    const { open } = positionOf(work.message())
    if (open.length === 0 && active.size === 0) return undefined
    const on: string[] = []
    let earliest = Number.POSITIVE_INFINITY
    let isLeft = false
    for (const call of open) {
      const { toolCallId } = call
      if (active.has(toolCallId)) continue
      let halt = halted.get(toolCallId)
      if (halt?.outcome === 'waiting' && halt.until <= work.clock()) halt = undefined
      const need = needOf(call)
      const settings = { work, step, call, tools }
      if (halt?.outcome === 'left') isLeft = true
      else if (halt) {
        on.push(...halt.on)
        earliest = Math.min(earliest, halt.until)
      } else if (need.for === 'answer') {
        const { pending, deadline = Number.POSITIVE_INFINITY } = need
        if (deadline <= work.clock()) start(call, () => settle(settings, pending))
        else {
          on.push(pending)
          earliest = Math.min(earliest, deadline)
        }
      } else if (work.handover.aborted) isLeft = true
      else if (active.size < agent.parallelCalls) {
        start(call, () => (need.for === 'denial' ? denyCall(settings) : executeCall(settings)))
      }
    }
    if (active.size === 0) return isLeft ? { outcome: 'left' } : { outcome: 'waiting', on, until: earliest }
    const isHeard = await next(work, active.values(), on.length > 0 ? heard : undefined, earliest)
    if (!isHeard) continue
    // What was answered may let any of those go on that wait.
    heard = ticketChanged.count
    await session.catchUp()
    for (const [toolCallId, { outcome }] of halted) if (outcome === 'waiting') halted.delete(toolCallId)
  }
}

async function settle(settings: ToolCallSettings, pending: string): Promise<undefined> {
  await expireCall(settings, pending)
  // Where somebody was faster the session tells; where this process's clock was ahead of the store's it is not any more.
  await settings.work.session.catchUp()
}

/** Waits until a call is at its end, or somebody has moved the ticket, or a deadline has passed; tells whether the ticket was ticketChanged. */
async function next(
  { ticketChanged, timers, clock }: AgentExecution,
  active: Iterable<Promise<void>>,
  heard: number | undefined,
  deadline: number,
): Promise<boolean> {
  const others: Promise<boolean>[] = []
  let cancel: (() => void) | undefined
  if (heard !== undefined) others.push(ticketChanged.after(heard).then(() => true))
  if (Number.isFinite(deadline)) {
    const left = Math.min(Math.max(deadline - clock(), 1), MAX_TIMER_MS)
    others.push(new Promise(resolve => (cancel = timers.after(left, () => resolve(false), true))))
  }
  try {
    return await Promise.race([...[...active].map(done => done.then(() => false)), ...others])
  } finally {
    cancel?.()
  }
}

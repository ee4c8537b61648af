// Requests in the format of AG-UI, which TanStack AI uses too.

import type { RunAgentInput } from '@millrace/dialects/ag-ui/schemas'
import { questionIdOf } from '@millrace/dialects/internal'
import type { Json } from '@millrace/protocol'
import type { Run } from '@millrace/runtime'
import type { Program } from '../../auth/authorize.ts'
import type { RouteCall } from '../../routing/route.ts'
import { guestOf } from '../../runs/requester.ts'
import { reauthorizeSession, requireSession } from '../../sessions/session-access.ts'
import { callerInSession } from './caller-in-session.ts'
import type { AcceptedTurn } from './handle-client-request.ts'
import { messageIdFor } from './names.ts'

/** A client that cancels an interrupt and sends no new message stops the run. Undefined for all other requests. */
export async function stopCancelledRun(
  call: RouteCall,
  { threadId, messages, resume = [] }: RunAgentInput,
  program: Program,
): Promise<AcceptedTurn | undefined> {
  const cancelled = new Set(
    resume.flatMap(({ status, interruptId }) => (status === 'cancelled' ? (questionIdOf(interruptId) ?? []) : [])),
  )
  if (cancelled.size === 0) return undefined
  const { services, request } = call
  const caller = await callerInSession(call, threadId, program)
  const identity = await requireSession(services, caller, threadId)
  const { view } = await services.runtime.view(threadId)
  const interrupt = view.interrupts.find(({ interruptId, status }) => status === 'open' && cancelled.has(interruptId))
  const last = messages.at(-1)
  const isNew = last?.role === 'user' && !view.messages.some(({ id }) => id === messageIdFor(last.id))
  if (!interrupt || isNew) return undefined
  await reauthorizeSession(services, request, caller, 'stop', threadId, program)
  await services.runtime.stop(threadId, interrupt.runId, guestOf(caller))
  const run: Run = services.runtime.run(threadId, interrupt.runId)
  return { run, caller, identity, action: 'stop', program, after: { sequence: view.head } }
}

/** The data that an application sends along. */
export function dataOf({ context = [], forwardedProps }: RunAgentInput): Json | undefined {
  const isEmpty = typeof forwardedProps === 'object' && Object.keys(forwardedProps ?? {}).length === 0
  const data = {
    ...(context.length > 0 && { context }),
    ...(forwardedProps !== undefined && !isEmpty && { forwardedProps }),
  }
  return Object.keys(data).length === 0 ? undefined : (data as unknown as Json)
}

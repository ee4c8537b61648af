// Finds the run of a session that a request refers to, by id or by default.

import type { Ticket } from '@millrace/log'
import type { Run, StopOptions } from '@millrace/runtime'
import type { Caller } from '../auth/authorize.ts'
import type { Services } from '../routing/services.ts'
import { requireSession, type SessionIdentity } from '../sessions/session-access.ts'
import { omitUndefined } from './omit-undefined.ts'
import { guestOf } from './requester.ts'

/** The open run, or else the next request in the queue. Undefined if the session is idle. */
export const activeRunId = ({ run, requests }: Pick<Ticket, 'run' | 'requests'>): string | undefined =>
  run?.runId ?? requests[0]?.runId

/** The open run, or else the run that ended last. A request in the queue is not a run yet. */
export const latestRunId = ({ run, last }: Pick<Ticket, 'run' | 'last'>): string | undefined =>
  run?.runId ?? last?.runId

/** The active run, or else the run that ended last. */
export const currentRunId = (ticket: Pick<Ticket, 'run' | 'requests' | 'last'>): string | undefined =>
  activeRunId(ticket) ?? ticket.last?.runId

/** The run that a client names. @throws `run_unknown` */
export async function knownRun({ runtime }: Services, { streamId }: SessionIdentity, runId: string): Promise<Run> {
  const run = runtime.run(streamId, runId)
  await run.ensureExists()
  return run
}

/** Options of a request to stop a run. */
interface StopRequest {
  readonly runId?: string | undefined
  readonly mode?: StopOptions['mode'] | undefined
  readonly reason?: string | undefined
}

/** Stops the run that a request names, or else the active one; a request in the queue is removed. `stopped` is false if there is none. */
export async function stopRun(
  services: Services,
  caller: Caller,
  sessionId: string,
  request: StopRequest = {},
): Promise<{ readonly runId?: string; readonly stopped: boolean }> {
  const { streamId, ticket } = await requireSession(services, caller, sessionId)
  const { runId = activeRunId(ticket), ...stopOptions } = request
  if (runId === undefined) return { stopped: false }
  const options = omitUndefined({ ...stopOptions, ...guestOf(caller) })
  return { runId, stopped: await services.runtime.stop(streamId, runId, options) }
}

import type { StreamInfo } from '@millrace/log'
import { runDueOf } from '@millrace/log/internal'

/**
 * State of a session: without a run (`idle`), driven (`running`), with due work that will be driven soon (`waiting`),
 * waiting for an answer (`paused`), or with due work that has no driver (`blocked`).
 */
export type SessionStatus =
  | { readonly status: 'idle' | 'running' | 'waiting' | 'paused' }
  | { readonly status: 'blocked'; readonly program: string; readonly reason: string }

/**
 * The state of a session, from its log alone, because drivers may be in other processes. `blockedAfterMs` is the time
 * without a driver after which due work counts as blocked.
 */
export function sessionStatusOf(
  { ticket, lease, clock, touchedAt }: StreamInfo,
  blockedAfterMs: number,
): SessionStatus {
  const { run, requests } = ticket
  const isDriven = lease !== null && lease.until > clock
  if (isDriven && run && !run.paused) return { status: 'running' }
  const due = runDueOf(ticket)
  const isDue = due.at === 'now' || (due.at !== null && due.at <= clock)
  if (!isDue) return { status: run ? 'paused' : 'idle' }
  const program = run?.program ?? requests[0]?.program ?? ''
  // The last driver had it until its lease expired.
  const since = Math.max(touchedAt, lease?.until ?? 0)
  if (isDriven || clock - since < blockedAfterMs) return { status: 'waiting' }
  const reason = `no process has driven it for ${clock - since} ms: start a worker with ${program}`
  return { status: 'blocked', program, reason }
}

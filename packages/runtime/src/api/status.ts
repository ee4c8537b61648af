import type { StreamInfo } from '@millrace/log'
import { runDueOf } from '@millrace/log/internal'

/**
 * What a session is doing: nothing, a run of it is driven, something is asked for and will be taken soon, its run waits for an answer, or something is due that nobody
 * drives.
 */
export type SessionStatus =
  | { readonly status: 'idle' | 'running' | 'waiting' | 'paused' }
  | { readonly status: 'blocked'; readonly program: string; readonly reason: string }

/** What a session is doing, told from its log alone: whoever could drive it may be in another process. */
export function statusOf({ ticket, lease, clock, touchedAt }: StreamInfo, blockedAfterMs: number): SessionStatus {
  const { run, requests } = ticket
  const isDriven = lease !== null && lease.until > clock
  if (isDriven && run && !run.paused) return { status: 'running' }
  const due = runDueOf(ticket)
  const isDue = due.at === 'now' || (due.at !== null && due.at <= clock)
  if (!isDue) return { status: run ? 'paused' : 'idle' }
  const program = run?.program ?? requests[0]?.program ?? ''
  // Who drove it last had it until its lease ran out.
  const since = Math.max(touchedAt, lease?.until ?? 0)
  if (isDriven || clock - since < blockedAfterMs) return { status: 'waiting' }
  const reason = `nobody has driven it for ${clock - since} ms: start a worker that has ${program}`
  return { status: 'blocked', program, reason }
}

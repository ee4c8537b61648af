// What the log refuses, as what a caller is told.

import type { Refusal } from '@millrace/log/internal'
import { RunError } from '../error/error.ts'
import type { ErrorCode } from '../error/error-codes.ts'

const WHY: Partial<Record<Refusal, readonly [ErrorCode, string]>> = {
  busy: ['run_busy', 'another run is open or asked for: wait, or say whenBusy'],
  full: ['run_queue_full', 'too many requests wait in the session'],
  'already-settled': ['run_ended', 'a run of that id was there before: choose another id'],
  gone: ['run_cut_refused', 'the session cannot be taken back to there'],
  'cut-waiting': ['run_busy', 'the session is about to be taken back by another request: wait for that'],
}

/** A refusal of a request. */
export function refusalOf(reason: Refusal, runId: string): RunError {
  const [code, why] = WHY[reason] ?? ['internal_error', `the log refused it: ${reason}`]
  return new RunError(code, `run ${runId}: ${why}`, { retryable: code === 'run_busy' || code === 'run_queue_full' })
}

/** What was asked for was decided on a session that has gone on since. */
export const overtaken = (runId: string, by: string | undefined): RunError =>
  new RunError('run_overtaken', `run ${runId}: run ${by} came first: look at the session, and ask again`)

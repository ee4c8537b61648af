// The names of a workflow's records in its run: one that works for a call has names of its own.

import type { BatchItem, Lane } from '@millrace/log'
import { shortKeyOf } from '../session/key.ts'
import type { Session } from '../session/session.ts'

interface RecordOwner {
  readonly runId: string
  readonly agentId: string
}

/** The longest that stands before a name as it is: names of questions have a bound. */
const LONGEST = 128

/** What stands before the names of all records of a workflow. */
export function recordScope({ runId, agentId }: RecordOwner): string {
  return agentId === runId ? '' : `${shortKeyOf(agentId, LONGEST)}:`
}

/** The ends of all records of a workflow that worked for a call: nobody asks for them any more. */
export function recordEnds(session: Session, work: RecordOwner, lane: Lane): BatchItem[] {
  const scope = recordScope(work)
  const own = session.view.internal?.hooks.filter(
    ({ runId, hookId }) => runId === work.runId && hookId.startsWith(scope),
  )
  const heads = new Set(own?.map(({ hookId }) => hookId.split('/', 1)[0] as string))
  return [...heads].map(hookId => ({ chunk: { type: 'hook-completed', hookId, hook: 'ended' }, lane, internal: true }))
}

// Scopes the names of a workflow's hook records. A workflow that runs for a call has its own scope.

import type { BatchItem, Lane } from '@millrace/log'
import { shortKeyOf } from '../session/key.ts'
import type { Session } from '../session/session.ts'

interface RecordOwner {
  readonly runId: string
  readonly agentId: string
}

/** Maximum length of an unhashed scope, because names of interrupts are limited. */
const MAX_SCOPE_LENGTH = 128

/** Prefix of the names of all records of a workflow. */
export function recordScope({ runId, agentId }: RecordOwner): string {
  return agentId === runId ? '' : `${shortKeyOf(agentId, MAX_SCOPE_LENGTH)}:`
}

/** The ends of all records of a workflow that ran for a call. They are not needed any more. */
export function recordEnds(session: Session, work: RecordOwner, lane: Lane): BatchItem[] {
  const scope = recordScope(work)
  const hooks = session.view.internal?.hooks.filter(
    ({ runId, hookId }) => runId === work.runId && hookId.startsWith(scope),
  )
  const executionIds = new Set(hooks?.map(({ hookId }) => hookId.split('/', 1)[0] as string))
  return [...executionIds].map(hookId => ({
    chunk: { type: 'hook-completed', hookId, hook: 'ended' },
    lane,
    internal: true,
  }))
}

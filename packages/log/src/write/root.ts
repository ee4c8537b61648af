import type { WriterOrigin } from '@millrace/protocol'
import type { Ticket } from '../ticket/ticket.ts'

/** The main lane of a run that does not say another. */
export const MAIN = 'main'

/** The main line of a run, for who speaks on it without driving it; the agent's name is its program's. */
export function rootOf(run: Pick<NonNullable<Ticket['run']>, 'runId' | 'program'> | null): WriterOrigin {
  const { runId = '', program = '' } = run ?? {}
  const agentType = /^\w+:(.*)@/.exec(program)?.[1] ?? ''
  return { runId, lane: MAIN, agentId: runId, agentType, step: 0 }
}

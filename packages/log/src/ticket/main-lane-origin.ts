import type { WriterOrigin } from '@millrace/protocol'
import { MAIN_LANE } from '@millrace/protocol/internal'
import type { Ticket } from './ticket.ts'

/** The origin of a run's main lane, for entries that its driver does not write. The agent's name is that of the program. */
export function mainLaneOrigin(run: Pick<NonNullable<Ticket['run']>, 'runId' | 'program'> | null): WriterOrigin {
  const { runId = '', program = '' } = run ?? {}
  const agentType = /^\w+:(.*)@/.exec(program)?.[1] ?? ''
  return { runId, lane: MAIN_LANE, agentId: runId, agentType, step: 0 }
}

// When a run waits, and for what: decided on the ticket, so that no answer is missed (law 5).

import type { Lane, Ticket } from '@millrace/log'
import { pendingKey, pauseOf as sayPause } from '@millrace/log/internal'
import type { Chunk, PendingRef } from '@millrace/protocol'
import type { Session } from '../session/session.ts'

/** Whether all that waits still does: nothing of it was answered, and nothing is late by the store's clock. */
export function canPause({ pendings }: Ticket, on: readonly string[], clock: number): boolean {
  const open = new Set(pendings.map(pendingKey))
  return (
    on.every(pending => open.has(pending)) &&
    pendings.every(({ deadline }) => deadline === undefined || deadline > clock)
  )
}

/** Says that a run waits: for its pendings, and each agent for those that work for it; for as many as the log takes, so that no pause is refused (law 6). */
export function pauseOf({ pendings }: Ticket, session: Session, lane: Lane, line?: string): Chunk {
  const pause = sayPause(pendings) as Extract<Chunk, { type: 'run-paused' }>
  const said = { ...pause, ...(line !== undefined && { line }) }
  const awaits = [...named(said.awaits, session), ...childrenOf({ pendings }, session)]
  // Whoever owes it to observers adds until when.
  const fits = (count: number) =>
    lane.fits([{ ...said, awaits: awaits.slice(0, count), notifyBy: Number.MAX_SAFE_INTEGER }])
  let most = fits(awaits.length) ? awaits.length : 0
  for (let over = awaits.length; over - most > 1; ) {
    const count = Math.floor((most + over) / 2)
    if (fits(count)) most = count
    else over = count
  }
  return { ...said, awaits: awaits.slice(0, most) }
}

/** What is awaited, with the names of the tools, so that who is told of the pause need not read the session. */
function named(awaits: readonly PendingRef[], { view }: Session): PendingRef[] {
  const names = new Map<string, string>()
  for (const pending of view.pendings) {
    if (pending.kind !== 'interrupt') names.set(pending.part.toolCallId, pending.part.toolName)
  }
  return awaits.map(awaited => {
    const toolName = 'toolCallId' in awaited ? names.get(awaited.toolCallId) : undefined
    return toolName === undefined ? awaited : { ...awaited, toolName }
  })
}

/** Who waits for which of the agents that work for it. */
function childrenOf({ pendings }: Pick<Ticket, 'pendings'>, session: Session): PendingRef[] {
  const parents = new Map(session.view.agents.map(({ agentId, parentId }) => [agentId, parentId]))
  const waiting = new Map<string, Set<string>>()
  for (const { agentId } of pendings) {
    for (let child = agentId, parent = parents.get(child); parent !== undefined; parent = parents.get(child)) {
      waiting.set(parent, (waiting.get(parent) ?? new Set()).add(child))
      child = parent
    }
  }
  return [...waiting].map(([id, agentIds]) => ({ kind: 'children', id, agentIds: [...agentIds] }))
}

// Pauses of a run. They are decided on the ticket, so that no answer is missed (law 5).

import type { Checkpoint, Lane, Ticket } from '@millrace/log'
import { pauseOf as pauseChunkOf, pendingKey } from '@millrace/log/internal'
import type { Chunk, PendingRef } from '@millrace/protocol'
import type { Session } from '../session/session.ts'

/** Whether all awaited pendings are still open and none is late by the store's clock. */
export function canPause({ pendings }: Ticket, on: readonly string[], clock: number): boolean {
  const open = new Set(pendings.map(pendingKey))
  return (
    on.every(pending => open.has(pending)) &&
    pendings.every(({ deadline }) => deadline === undefined || deadline > clock)
  )
}

/**
 * The pause of a run: its pendings, its last checkpoint, and for each agent the sub-agents that it waits for. Lists as many as fit the log,
 * so that no pause is rejected (law 6).
 */
export function pauseOf(
  { pendings }: Ticket,
  session: Session,
  lane: Lane,
  { checkpoint, line }: { readonly checkpoint?: Checkpoint | undefined; readonly line?: string | undefined } = {},
): Chunk {
  const pause = { ...pauseChunkOf(pendings, { checkpoint }), ...(line !== undefined && { line }) }
  const awaits = [...withToolNames(pause.awaits, session), ...childrenOf({ pendings }, session)]
  // The notifier adds the deadline of the notification.
  const fits = (count: number) =>
    lane.fits([{ ...pause, awaits: awaits.slice(0, count), notifyBy: Number.MAX_SAFE_INTEGER }])
  // Binary search for the largest count that fits.
  let fitting = fits(awaits.length) ? awaits.length : 0
  for (let tooMany = awaits.length; tooMany - fitting > 1; ) {
    const count = Math.floor((fitting + tooMany) / 2)
    if (fits(count)) fitting = count
    else tooMany = count
  }
  return { ...pause, awaits: awaits.slice(0, fitting) }
}

/** Adds tool names to the pendings, so that observers need not read the session. */
function withToolNames(awaits: readonly PendingRef[], { view }: Session): PendingRef[] {
  const names = new Map<string, string>()
  for (const pending of view.pendings) {
    if (pending.kind !== 'interrupt') names.set(pending.part.toolCallId, pending.part.toolName)
  }
  return awaits.map(awaited => {
    const toolName = 'toolCallId' in awaited ? names.get(awaited.toolCallId) : undefined
    return toolName === undefined ? awaited : { ...awaited, toolName }
  })
}

/** The sub-agents that each agent waits for. */
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

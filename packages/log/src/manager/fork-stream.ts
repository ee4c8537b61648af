// A fork: a log that starts as a copy of another's beginning. Its first own batch ends the runs and requests that
// were open there. The store writes it together with the copy, so that no driver can continue a copied run.

import type { Chunk, GuestOrigin, View } from '@millrace/protocol'
import type { LogHistory } from '../read/log-history.ts'
import { absentError } from '../store/checks.ts'
import { encodeBatch, type NewEntry } from '../store/entry.ts'
import { LogError } from '../store/log-error.ts'
import type { Fork, LogStore } from '../store/log-store.ts'
import { randomName } from '../store/names.ts'
import type { StoreCall } from '../store/retry.ts'
import { advance, mainLaneOrigin, recordOf, type Ticket } from '../ticket/ticket.ts'

/** Creates a log from the beginning of another, up to a sequence. */
export async function forkStream(
  store: LogStore,
  history: LogHistory,
  call: StoreCall,
  source: string,
  at: number,
  target: string,
  principal: string | null,
): Promise<void> {
  const { ticket, fold } = await history.at(source, at)
  const entries = closingEntries(ticket, fold.view())
  const closing = entries.length > 0 ? { batch: encodeBatch(entries), nonce: randomName() } : null
  const next = recordOf(advance(ticket, entries))
  let tries = 0
  const result = await call(() => {
    tries++
    return store.fork(source, at, target, { principal, ticket: next, closing })
  })
  switch (result) {
    case 'forked':
      return
    case 'exists':
      // On the first try, an existing target is another log.
      if (tries > 1 && (await isSameFork(history, source, at, target, { principal, closing }))) return
      throw new LogError('exists', `the log ${target} already exists: fork into another id`)
    case 'absent':
      throw absentError(source)
    case 'out-of-range':
      throw new LogError('truncated', `the log ${source} no longer has entry ${at}: fork at a later entry`)
  }
}

/** Whether the target is this fork: the answer to an earlier try may have been lost. */
async function isSameFork(
  history: LogHistory,
  source: string,
  at: number,
  target: string,
  { principal, closing }: Pick<Fork, 'principal' | 'closing'>,
): Promise<boolean> {
  const page = await history.head(target)
  if (page?.principal !== principal) return false
  if (closing) return page?.mark === closing.nonce
  // Without a closing batch, two forks at the same sequence have the same content.
  const mark = page?.head === at ? (await history.at(source, at)).cursor.epoch : undefined
  return mark !== undefined && page?.mark === mark
}

/** The guest that withdraws the source's requests in a copy. */
const FORK_GUEST = 'fork'

/** The entries that withdraw waiting requests, end open runs, and remove their notices. */
function closingEntries({ run, requests, notices = [] }: Ticket, { runs, agents }: View): NewEntry[] {
  const closing: NewEntry[] = requests.map(({ runId }) => {
    // A requested run has no writer, and a writer's entry would open it.
    const origin: GuestOrigin = { guest: FORK_GUEST, runId }
    return { origin, chunk: { type: 'stop-requested', runId, reason: 'forked' } }
  })
  // A run may be cut off from its start, which follows its rewind: then it is open in the view only.
  const open = runs.filter(({ status }) => status === 'running' || status === 'paused')
  for (const { runId, program = '' } of open) {
    const hasStarted = run?.runId === runId
    const origin = mainLaneOrigin({ runId, program })
    const entry = (chunk: Chunk): NewEntry => ({ origin, chunk })
    // Ends its sub-agents first, the last started first.
    for (const agent of agents.filter(other => other.runId === runId && other.status === undefined).reverse()) {
      const { agentId, agentType, toolCallId, parentId } = agent
      const chunk: Chunk = {
        type: 'subagent-end',
        agentId,
        agentType,
        toolCallId,
        status: 'interrupted',
        reason: 'forked',
      }
      const parent = agents.find(other => other.runId === runId && other.agentId === parentId) ?? origin
      closing.push({ origin: { ...origin, agentId: parentId, agentType: parent.agentType }, chunk })
    }
    if (hasStarted) closing.push(entry({ type: 'abort', reason: 'forked' }))
    // A run that did not start cannot be resumed.
    closing.push(entry({ type: 'run-finished', status: hasStarted ? 'interrupted' : 'aborted', reason: 'forked' }))
  }
  for (const { runId, notifyBy } of notices) {
    closing.push({ origin: { guest: FORK_GUEST }, chunk: { type: 'run-notified', runId, notifyBy }, internal: true })
  }
  return closing
}

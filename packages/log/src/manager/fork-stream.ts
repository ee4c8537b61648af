// A branch: a log that starts as a copy of another's beginning. Its first batch of its own ends what was open there, in the same step that makes
// the copy, so that nobody can take a copied run for one to go on with.

import type { Chunk, GuestOrigin, View } from '@millrace/protocol'
import type { LogHistory } from '../read/log-history.ts'
import { encodeBatch, type NewEntry } from '../store/entry.ts'
import { LogError } from '../store/log-error.ts'
import type { Fork, LogStore } from '../store/log-store.ts'
import { randomName } from '../store/names.ts'
import type { StoreCall } from '../store/retry.ts'
import { mainLaneOrigin } from '../ticket/main-lane.ts'
import { advance, recordOf, type Ticket } from '../ticket/ticket.ts'

/** Makes a log from the beginning of another, up to a sequence. */
export async function fork(
  store: LogStore,
  history: LogHistory,
  ask: StoreCall,
  source: string,
  at: number,
  target: string,
  principal: string | null,
): Promise<void> {
  const { ticket, fold } = await history.at(source, at)
  const entries = closingOf(ticket, fold.view())
  const closing = entries.length > 0 ? { batch: encodeBatch(entries), nonce: randomName() } : null
  const next = recordOf(advance(ticket, entries))
  let tries = 0
  const result = await ask(() => {
    tries++
    return store.fork(source, at, target, { principal, ticket: next, closing })
  })
  switch (result) {
    case 'forked':
      return
    case 'exists':
      // What is there at the first try is another's.
      if (tries > 1 && (await isThere(history, source, at, target, { principal, closing }))) return
      throw new LogError('exists', `there is a log ${target} already: fork into another`)
    case 'absent':
      throw new LogError('absent', `there is no log ${source}`)
    case 'out-of-range':
      throw new LogError('truncated', `the log ${source} does not hold entry ${at}: it was trimmed meanwhile`)
  }
}

/** Whether the target is this very fork: the answer to a first try may have been lost. */
async function isThere(
  history: LogHistory,
  source: string,
  at: number,
  target: string,
  { principal, closing }: Pick<Fork, 'principal' | 'closing'>,
): Promise<boolean> {
  const page = await history.head(target)
  if (page?.principal !== principal) return false
  if (closing) return page?.mark === closing.nonce
  // Without a closing batch there is nothing by which to tell one copy from another, and nothing in which they differ.
  const mark = page?.head === at ? (await history.at(source, at)).cursor.epoch : undefined
  return mark !== undefined && page?.mark === mark
}

/** Who takes back in a copy what was asked for in its source. */
const FORK = 'fork'

/** What takes waiting requests back, ends open runs, and leaves nothing of theirs to be told. */
function closingOf({ run, requests, notices = [] }: Ticket, { runs, agents }: View): NewEntry[] {
  const closing: NewEntry[] = requests.map(({ runId }) => {
    // Nobody writes that run, and a writer's word would open it.
    const origin: GuestOrigin = { guest: FORK, runId }
    return { origin, chunk: { type: 'stop-requested', runId, reason: 'forked' } }
  })
  // One may be cut off from its start, which follows its rewind: it is open in the view alone.
  const open = runs.filter(({ status }) => status === 'running' || status === 'paused')
  for (const { runId, program = '' } of open) {
    const isBegun = run?.runId === runId
    const origin = mainLaneOrigin({ runId, program })
    const say = (chunk: Chunk): NewEntry => ({ origin, chunk })
    // Who works for nobody has ended, those that began last first.
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
    if (isBegun) closing.push(say({ type: 'abort', reason: 'forked' }))
    // What did not begin cannot be resumed.
    closing.push(say({ type: 'run-finished', status: isBegun ? 'interrupted' : 'aborted', reason: 'forked' }))
  }
  for (const { runId, notifyBy } of notices) {
    closing.push({ origin: { guest: FORK }, chunk: { type: 'run-notified', runId, notifyBy }, internal: true })
  }
  return closing
}

// The points to which a session can be rewound (law 3): before the start of a turn, or at a checkpoint of a main lane while no call,
// pending or other lane was open, and only if no earlier rewind retracted that sequence.

import { type Entry, type Fold, isGuest, isRewind, isRunStarted, type View } from '@millrace/protocol'
import { MAIN_LANE } from '@millrace/protocol/internal'
import { LogError, type LogErrorCode } from '../store/log-error.ts'
import type { Page } from '../store/log-store.ts'
import type { LogHistory } from './log-history.ts'

const SETTLED = new Set(['output-available', 'output-error', 'output-denied'])

const UNREADABLE: ReadonlySet<LogErrorCode> = new Set(['truncated', 'invalid', 'absent'])

/** Whether the session can be rewound to this sequence. */
export function canRewindTo(history: LogHistory, streamId: string, toSequence: number): Promise<boolean> {
  return history.withTrimRetry(streamId, page => canRewindPage(history, streamId, page, toSequence))
}

async function canRewindPage(history: LogHistory, streamId: string, page: Page | undefined, toSequence: number) {
  if (page === undefined || toSequence >= page.head || toSequence < page.floor) return false
  let at: Entry | undefined
  let next: Entry | undefined
  let isGone = false
  await history.forEachBatch(streamId, Math.max(page.floor, toSequence - 1), page.head, entries => {
    for (const entry of entries) {
      if (entry.sequence === toSequence) at = entry
      else if (entry.sequence === toSequence + 1) next = entry
      if (isRewind(entry.chunk) && entry.chunk.toSequence < toSequence && entry.sequence > toSequence) isGone = true
    }
  })
  if (isGone) return false
  const fold = await foldAt(history, streamId, toSequence)
  if (fold === undefined) return false
  if (next && isRunStarted(next.chunk) && !isGuest(next.origin)) return true
  if (at?.chunk.type !== 'checkpoint-created' || isGuest(at.origin)) return false
  const { runId, agentId, lane } = at.origin
  const view = fold.view()
  return (
    agentId === runId &&
    isOnlyMainLaneOpen(view, runId) &&
    lane === (await mainLane(history, streamId, page, view, runId))
  )
}

/** The lane on which a run started; the default lane if its start was trimmed. */
async function mainLane(history: LogHistory, streamId: string, { floor }: Page, { runs }: View, runId: string) {
  const start = runs.find(run => run.runId === runId)?.at ?? 0
  let lane: string = MAIN_LANE
  if (start > floor) {
    await history.forEachBatch(streamId, start - 1, start, ([entry]) => {
      lane = entry?.origin.lane ?? MAIN_LANE
    })
  }
  return lane
}

/** The fold at a sequence. Undefined if the log is trimmed without a snapshot that far down, or was replaced. */
async function foldAt(history: LogHistory, streamId: string, sequence: number): Promise<Fold | undefined> {
  try {
    return (await history.at(streamId, sequence)).fold
  } catch (error) {
    if (error instanceof LogError && UNREADABLE.has(error.code)) return undefined
    throw error
  }
}

/** Whether only the main lane of a run is open. */
function isOnlyMainLaneOpen(view: View, runId: string): boolean {
  if (view.pendings.length > 0 || view.drafts.length > 0) return false
  if (view.agents.some(agent => agent.runId === runId && agent.status === undefined)) return false
  const runMessages = view.messages.filter(message => message.runId === runId)
  return runMessages.every(({ parts }) => parts.every(part => !('toolCallId' in part) || SETTLED.has(part.state)))
}

// An edit and a regenerate rewind the session to before a turn and run it again. The rewound turns stay in the log. Turns that start at the
// same point of the conversation are siblings: versions of one turn.

import type { Run, RunRequest } from '@millrace/protocol'

/** One version of a turn. */
export interface Sibling {
  readonly runId: string
  /** Id of its user message. */
  readonly messageId: string
  /** The last sequence before a rewind removed it; undefined while it is part of the session. */
  readonly end: number | undefined
}

/** All versions of a turn. */
interface Siblings {
  /** One per user message, oldest first, each with its last response. */
  readonly messages: readonly Sibling[]
  /** One per response to the same user message, oldest first. */
  readonly answers: readonly Sibling[]
}

interface TurnStart {
  readonly runId: string
  readonly at: number
  readonly messageId: string
  /** The sequence to which it rewound the session. */
  readonly cut: number | undefined
  readonly isEdit: boolean
}

/** Turns with more than one version, by run id and by the id of the user message. */
export interface SiblingIndex {
  readonly byRun: ReadonlyMap<string, Siblings>
  readonly byMessage: ReadonlyMap<string, Siblings>
}

export const NO_SIBLINGS: SiblingIndex = { byRun: new Map(), byMessage: new Map() }

type Ledger = { readonly runs: readonly Run[]; readonly requests: readonly RunRequest[] }

/** Reasons of a rewind that create another version of a turn. */
const REASONS: ReadonlySet<string> = new Set(['edit', 'retry'])

/** The versions of all turns. Returns early for a session without a rewind. */
export function siblingsOf({ runs, requests }: Ledger): SiblingIndex {
  if (!requests.some(({ cut }) => cut)) return NO_SIBLINGS
  const byRun = new Map<string, Siblings>()
  const byMessage = new Map<string, Siblings>()
  const starts = startsOf(runs, requests)
  const rewindingTurns = starts.filter(({ cut }) => cut !== undefined)
  // The first run that rewound it. The rewind is the entry before that run's start.
  const endOf = ({ at }: TurnStart): number | undefined => {
    const rewindingTurn = rewindingTurns.find(turn => (turn.cut as number) < at && at < turn.at)
    return rewindingTurn && rewindingTurn.at - 2
  }
  for (const group of groupsOf(starts).filter(({ length }) => length > 1)) {
    const sibling = (start: TurnStart): Sibling => {
      const { runId, messageId } = start
      return { runId, messageId, end: endOf(start) }
    }
    const turns = Map.groupBy(group, ({ messageId }) => messageId)
    const messages = Array.from(turns.values(), versions => sibling(versions.at(-1) as TurnStart))
    for (const [messageId, versions] of turns) {
      const siblings = { messages, answers: versions.map(sibling) }
      byMessage.set(messageId, siblings)
      for (const { runId } of versions) byRun.set(runId, siblings)
    }
  }
  return { byRun, byMessage }
}

/** The turns, in the order of their start. */
function startsOf(runs: readonly Run[], requests: readonly RunRequest[]): readonly TurnStart[] {
  const requestOf = new Map(requests.map(request => [request.runId, request]))
  const starts = runs.map(({ runId, at }): TurnStart => {
    const { message, cut } = requestOf.get(runId) ?? {}
    const isTurn = cut !== undefined && REASONS.has(cut.reason)
    return {
      runId,
      at,
      messageId: message?.messageId ?? runId,
      cut: isTurn ? cut.toSequence : undefined,
      isEdit: cut?.reason === 'edit',
    }
  })
  return starts.sort((a, b) => a.at - b.at)
}

/** Groups turns that start at the same point: each rewinds to right before the start of another. */
function groupsOf(starts: readonly TurnStart[]): readonly (readonly TurnStart[])[] {
  const groups = new Map<number, TurnStart[]>()
  for (const start of starts) {
    const group = start.cut === undefined ? [] : (groups.get(start.cut + 1) ?? [unloadedTurn(start, start.cut)])
    group.push(start)
    groups.set(start.at, group)
  }
  return [...new Set(groups.values())]
}

/** Stands for a rewound turn that is not loaded. Its position is known from the rewind. */
const unloadedTurn = ({ runId, messageId, isEdit }: TurnStart, cut: number): TurnStart => ({
  runId: `before ${runId}`,
  at: cut + 1,
  messageId: isEdit ? `before ${messageId}` : messageId,
  cut: undefined,
  isEdit: false,
})

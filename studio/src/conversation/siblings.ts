// An edit and a regenerate take the session back to before a turn, and do it otherwise: what they took back is still in the log. Turns that
// began at one place are siblings.

import type { Run, RunRequest } from '@millrace/protocol'

/** One way in which a turn was done. */
export interface Sibling {
  readonly runId: string
  /** Of what was said. */
  readonly messageId: string
  /** The last sequence at which it was part of the session; none for what still is. */
  readonly end: number | undefined
}

/** In which ways a turn was done. */
interface Siblings {
  /** By what was said, first to last, each as it was answered last. */
  readonly said: readonly Sibling[]
  /** By how that was answered, first to last. */
  readonly answers: readonly Sibling[]
}

interface Start {
  readonly runId: string
  readonly at: number
  readonly messageId: string
  /** The sequence to which it took the session back, and whether in order to have something else said there. */
  readonly cut: number | undefined
  readonly isEdit: boolean
}

/** Turns that were done in more than one way, by the run of each, and by the message that it began with. */
export interface Family {
  readonly byRun: ReadonlyMap<string, Siblings>
  readonly byMessage: ReadonlyMap<string, Siblings>
}

export const NO_FAMILY: Family = { byRun: new Map(), byMessage: new Map() }

type Ledger = { readonly runs: readonly Run[]; readonly requests: readonly RunRequest[] }

/** Why a session is taken back to the start of a turn, in order to do it otherwise. */
const REASONS: ReadonlySet<string> = new Set(['edit', 'retry'])

/** In which ways turns were done. A session where nothing was taken back costs nothing. */
export function siblingsOf({ runs, requests }: Ledger): Family {
  if (!requests.some(({ cut }) => cut)) return NO_FAMILY
  const byRun = new Map<string, Siblings>()
  const byMessage = new Map<string, Siblings>()
  const starts = startsOf(runs, requests)
  const cutters = starts.filter(({ cut }) => cut !== undefined)
  // The first who took it back; the entry before a run's start is the one that does, and nothing of it was there before that.
  const endOf = ({ at }: Start): number | undefined => {
    const cutter = cutters.find(one => (one.cut as number) < at && at < one.at)
    return cutter && cutter.at - 2
  }
  for (const group of groupsOf(starts).filter(({ length }) => length > 1)) {
    const sibling = (start: Start): Sibling => {
      const { runId, messageId } = start
      return { runId, messageId, end: endOf(start) }
    }
    const turns = Map.groupBy(group, ({ messageId }) => messageId)
    const said = Array.from(turns.values(), of => sibling(of.at(-1) as Start))
    for (const [messageId, of] of turns) {
      const siblings = { said, answers: of.map(sibling) }
      byMessage.set(messageId, siblings)
      for (const { runId } of of) byRun.set(runId, siblings)
    }
  }
  return { byRun, byMessage }
}

/** The turns, in the order in which they began. */
function startsOf(runs: readonly Run[], requests: readonly RunRequest[]): readonly Start[] {
  const asked = new Map(requests.map(request => [request.runId, request]))
  const starts = runs.map(({ runId, at }): Start => {
    const { message, cut } = asked.get(runId) ?? {}
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

/** The turns that began at one place: each cuts right before the start of another. */
function groupsOf(starts: readonly Start[]): readonly (readonly Start[])[] {
  const groups = new Map<number, Start[]>()
  for (const start of starts) {
    const group = start.cut === undefined ? [] : (groups.get(start.cut + 1) ?? [leftOut(start, start.cut)])
    group.push(start)
    groups.set(start.at, group)
  }
  return [...new Set(groups.values())]
}

/** What a turn took back, where that is long ago, and the session is read without it: the place of it is known all the same. */
const leftOut = ({ runId, messageId, isEdit }: Start, cut: number): Start => ({
  runId: `before ${runId}`,
  at: cut + 1,
  messageId: isEdit ? `before ${messageId}` : messageId,
  cut: undefined,
  isEdit: false,
})

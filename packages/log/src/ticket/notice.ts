// What is owed to observers: somebody is to tell them of a pause or an end. Its writer does so at once, and whoever else can does from a stated time on, so
// that a process that dies in between leaves nobody untold.

import type { ChunkOf, RunStatus } from '@millrace/protocol'

/** A pause or an end of a run that nobody has said to have told the observers of. */
export interface TicketNotice {
  readonly runId: string
  readonly program: string
  readonly status: RunStatus | 'paused'
  /** From then on whoever can is to tell, by the store's clock; until then it is up to who wrote it, or took it upon itself. */
  readonly notifyBy: number
  /** How often somebody took it upon itself since it was written, if anybody did. */
  readonly tries?: number
  /** What its `notifyBy` was before anybody did, by which it is known all along. */
  readonly first?: number
}

type Noticing = { readonly notices?: readonly TicketNotice[] }
type Notified = Pick<ChunkOf<'run-notified'>, 'runId' | 'notifyBy' | 'until'>

/** How many notices a ticket holds: those that nobody tells for so long must not grow for ever (law 6). */
export const MAX_NOTICES = 16
/** The longest name of a program that a store is asked for. */
const LONGEST = 512

/**
 * Under which name a log is due to those who tell observers of a program's runs, of whatever version: a run that has ended needs no program to go on. Without a
 * program, to those who tell of any: there are notices of several.
 */
export const noticeProgram = (program?: string): string => nameOf('notify', program)

/** The same where a run waits with a deadline behind its notices: also who drives that is to look there. */
export const lateProgram = (program?: string): string => nameOf('late', program)

const nameOf = (kind: string, program = '*'): string =>
  `${kind}:${program.replace(/@[^@]*$/, '')}`.slice(0, LONGEST).toWellFormed()

/** The ticket with one more notice, if there is a time by which others are to tell; the oldest goes where there are too many. */
export function withNotice<T extends Noticing>(ticket: T, { notifyBy, ...of }: Unsaid): T {
  if (notifyBy === undefined) return ticket
  return { ...ticket, notices: [...(ticket.notices ?? []), { ...of, notifyBy }].slice(-MAX_NOTICES) }
}

type Unsaid = Omit<TicketNotice, 'notifyBy' | 'tries' | 'first'> & { readonly notifyBy: number | undefined }

/** The notice that a `run-notified` is about, if it is still owed. */
export const noticeOf = ({ notices }: Noticing, { runId, notifyBy }: Notified): TicketNotice | undefined =>
  notices?.find(notice => notice.runId === runId && notice.notifyBy === notifyBy)

/** The ticket once somebody has told, or has taken it upon itself; the same where nothing of the kind is owed. */
export function notified<T extends Noticing>(ticket: T, said: Notified): T {
  const notice = noticeOf(ticket, said)
  if (notice === undefined) return ticket
  const { notices = [], ...rest } = ticket
  const { until } = said
  const left = notices.flatMap(other => {
    if (other !== notice) return other
    if (until === undefined) return []
    const { tries = 0, first = notice.notifyBy } = notice
    return { ...notice, notifyBy: until, tries: tries + 1, first }
  })
  return (left.length > 0 ? { ...rest, notices: left } : rest) as T
}

/** The notice that is due first. */
export const firstNotice = ({ notices = [] }: Noticing): TicketNotice | undefined =>
  notices.reduce<TicketNotice | undefined>(
    (first, notice) => (first && first.notifyBy <= notice.notifyBy ? first : notice),
    undefined,
  )

// Notices: observers have to be notified of a pause or an end of a run. The driver that wrote it notifies at once.
// Any other process may do so after `notifyBy`, so that no notification is lost when a process dies in between.

import type { ChunkOf, RunStatus } from '@millrace/protocol'

/** A pause or an end of a run whose notification is not confirmed yet. */
export interface TicketNotice {
  readonly runId: string
  readonly program: string
  readonly status: RunStatus | 'paused'
  /**
   * From this time on, by the store's clock in ms, any process may notify. Before it, only the process that wrote or
   * claimed the notice may.
   */
  readonly notifyBy: number
  /** How often the notice was claimed since it was written. */
  readonly tries?: number
  /** The `notifyBy` before the first claim. It identifies the notice. */
  readonly first?: number
}

type HasNotices = { readonly notices?: readonly TicketNotice[] }
type NotifiedRef = Pick<ChunkOf<'run-notified'>, 'runId' | 'notifyBy' | 'until'>

/** Maximum number of notices in a ticket (law 6). */
export const MAX_NOTICES = 16
/** Maximum length of a program's name in the store. */
const MAX_PROGRAM_LENGTH = 512

/**
 * The program under which a log is due for notifying observers of a program's runs, of any version: an ended run
 * needs no program to continue. Without a program: for notices of several programs.
 */
export const noticeProgram = (program?: string): string => nameOf('notify', program)

/**
 * The name for a log whose run also has a pending with a later deadline: drivers of that run look for this name too.
 */
export const noticeAndDeadlineProgram = (program?: string): string => nameOf('late', program)

const nameOf = (kind: string, program = '*'): string =>
  `${kind}:${program.replace(/@[^@]*$/, '')}`.slice(0, MAX_PROGRAM_LENGTH).toWellFormed()

/** The ticket with one more notice, if `notifyBy` is set. Drops the oldest notice above the limit. */
export function withNotice<T extends HasNotices>(ticket: T, { notifyBy, ...of }: NewNotice): T {
  if (notifyBy === undefined) return ticket
  return { ...ticket, notices: [...(ticket.notices ?? []), { ...of, notifyBy }].slice(-MAX_NOTICES) }
}

type NewNotice = Omit<TicketNotice, 'notifyBy' | 'tries' | 'first'> & { readonly notifyBy: number | undefined }

/** The notice that a `run-notified` is about, if it is still open. */
export const noticeOf = ({ notices }: HasNotices, { runId, notifyBy }: NotifiedRef): TicketNotice | undefined =>
  notices?.find(notice => notice.runId === runId && notice.notifyBy === notifyBy)

/**
 * The ticket after a `run-notified`, which claims or confirms a notice. Returns the same ticket if there is no such
 * notice.
 */
export function withNotified<T extends HasNotices>(ticket: T, ref: NotifiedRef): T {
  const notice = noticeOf(ticket, ref)
  if (notice === undefined) return ticket
  const { notices = [], ...rest } = ticket
  const { until } = ref
  const remaining = notices.flatMap(other => {
    if (other !== notice) return other
    if (until === undefined) return []
    const { tries = 0, first = notice.notifyBy } = notice
    return { ...notice, notifyBy: until, tries: tries + 1, first }
  })
  return (remaining.length > 0 ? { ...rest, notices: remaining } : rest) as T
}

/** The notice with the earliest `notifyBy`. */
export const firstNotice = ({ notices = [] }: HasNotices): TicketNotice | undefined =>
  notices.reduce<TicketNotice | undefined>(
    (first, notice) => (first && first.notifyBy <= notice.notifyBy ? first : notice),
    undefined,
  )

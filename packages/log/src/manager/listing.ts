import type { Listed } from '../store/log-store.ts'
import { type StreamStatus, statusOf, ticketOf } from '../ticket/ticket.ts'

/** A log as a list shows it. */
export interface ListedStream extends Omit<Listed, 'ticket'> {
  readonly status: StreamStatus
  /** What people call it, if anybody has said. */
  readonly title?: string
  /** The last line that was said there, if anything was. */
  readonly line?: string
}

/** What a list shows of a log. */
export function listedOf({ ticket: state, ...listed }: Listed): ListedStream {
  const ticket = ticketOf(state)
  const { about: { title } = {}, line } = ticket
  return {
    ...listed,
    status: statusOf(ticket),
    ...(title !== undefined && { title }),
    ...(line !== undefined && { line }),
  }
}

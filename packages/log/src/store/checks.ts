// Argument checks that every store makes before it reads a log, so that all stores reject the same calls with
// `invalid`, and errors that several files throw.

import { LogError } from './log-error.ts'
import type { Batch, Fork, GuestAppend, TicketMove, TicketRecord, WriterAppend } from './log-store.ts'

/** Rejects a name that is not well-formed Unicode: encoded as UTF-8, a lone surrogate would become another name. */
export function checkNames(names: Readonly<Record<string, string | null>>): void {
  for (const field in names) {
    if (names[field]?.isWellFormed() === false) {
      throw new LogError('invalid', `${field}: expected well-formed Unicode, found a lone surrogate`)
    }
  }
}

/** Rejects a number that is not an integer from 0 to 2^53 - 1. */
export function checkIntegers(numbers: Readonly<Record<string, number>>): void {
  for (const field in numbers) {
    const value = numbers[field] as number
    if (!Number.isSafeInteger(value) || value < 0) {
      throw new LogError('invalid', `${field}: expected a whole number from 0 to 2^53 - 1, found ${value}`)
    }
  }
}

/** Rejects a lease time that is negative, not a number or above 2^53 - 1. */
export function checkTtl(ttlMs: number): void {
  if (ttlMs >= 0 && ttlMs <= Number.MAX_SAFE_INTEGER) return
  throw new LogError('invalid', `ttlMs: expected milliseconds from 0 to 2^53 - 1, found ${ttlMs}`)
}

/** Rejects an append with invalid arguments. */
export function checkAppend(
  streamId: string,
  { count }: Batch,
  by: WriterAppend | GuestAppend,
  ticket: TicketMove | undefined,
): void {
  checkNames({ streamId })
  checkPositive('count', count)
  if ('epoch' in by) {
    checkPositive('counter', by.counter)
    checkIntegers({ 'lastAcked.sequence': by.lastAcked.sequence })
  } else {
    checkNames({ key: by.key, nonce: by.nonce })
  }
  if (ticket) checkTicket(ticket.next)
}

/** Rejects a fork with invalid arguments. */
export function checkFork(source: string, at: number, target: string, { principal, ticket, closing }: Fork): void {
  checkNames({ source, target, principal, nonce: closing?.nonce ?? null })
  checkIntegers({ at })
  if (closing) checkPositive('count', closing.batch.count)
  checkTicket(ticket)
}

function checkTicket({ due: { at, program } }: TicketRecord): void {
  checkNames({ program })
  if (at === null || at === 'now' || Math.abs(at) <= Number.MAX_SAFE_INTEGER) return
  throw new LogError('invalid', `due.at: expected a time in milliseconds up to 2^53 - 1, found ${at}`)
}

function checkPositive(field: string, value: number): void {
  if (Number.isSafeInteger(value) && value > 0) return
  throw new LogError('invalid', `${field}: expected a whole number from 1 to 2^53 - 1, found ${value}`)
}

/** The error of `list` or `listOldest` for an `after` that no page returned. */
export const listTokenError = (method: 'list' | 'listOldest' = 'list'): LogError =>
  new LogError('invalid', `${method}: expected \`after\` to be the \`next\` of an earlier page: list from the start`)

/** The error of a call that needs an existing log. */
export const absentError = (streamId: string): LogError =>
  new LogError('absent', `there is no log ${streamId}: check the id, or create it first`)

// Turns SQLite's errors into a LogError with advice. Failures cross from the worker as plain data.

import { LogError, type LogErrorCode } from '../../store/log-error.ts'

const BUSY = 5
const FULL = 13
const PROTOCOL = 15

const ADVICE: Readonly<Record<number, string>> = {
  [BUSY]: 'another process holds its lock: stop that process, or try again',
  8: 'it is read-only: give this process write access to the file and its folder',
  10: 'the disk failed: check the disk, then try again',
  11: 'it is corrupt: restore a backup, then call restored()',
  [FULL]: 'free disk space, trim or remove logs, or raise maxPages',
  14: 'it cannot be opened: create its folder, and give this process write access',
  [PROTOCOL]: 'too many processes open it at once: try again',
  26: 'it is not an SQLite database, or corrupt: use another path, or restore a backup',
}

/** A failure as plain data, for messages between threads. */
export interface PackedFailure {
  readonly message: string
  readonly code?: LogErrorCode
  readonly errcode?: number
}

/** Whether another connection had the file locked, so that waiting helps. */
export function isBusy(error: unknown): boolean {
  const code = (errcodeOf(error) ?? 0) & 0xff
  return code === BUSY || code === PROTOCOL
}

/** Whether the disk is full, or the file has its maximum size. */
export const isFull = (error: unknown): boolean => errcodeOf(error) === FULL

/** Packs a failure for a message between threads. */
export function packFailure(error: unknown): PackedFailure {
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof LogError) return { message, code: error.code }
  const errcode = errcodeOf(error)
  return errcode === undefined ? { message } : { message, errcode }
}

/** Restores a packed failure as an error. */
export function unpackFailure({ message, code, errcode }: PackedFailure): Error {
  if (code !== undefined) return new LogError(code, message)
  return errcode === undefined ? new Error(message) : Object.assign(new Error(message), { errcode })
}

/** The error that a caller gets. */
export function logErrorOf(error: unknown, path: string): LogError {
  if (error instanceof LogError) return error
  const errcode = errcodeOf(error)
  const advice = ADVICE[(errcode ?? 0) & 0xff] ?? 'see the cause'
  const message = error instanceof Error ? error.message : String(error)
  return new LogError('unavailable', `SQLite file ${path}: ${message}: ${advice}`, { cause: error })
}

function errcodeOf(error: unknown): number | undefined {
  const isCode = error instanceof Error && 'errcode' in error && typeof error.errcode === 'number'
  return isCode ? (error.errcode as number) : undefined
}

import { LogError } from '../../store/log-error.ts'

// Advice by Postgres error code (appendix A of its manual) or class.
const ADVICE: Record<string, string> = {
  '08': 'the connection broke: it may have happened or not; try again',
  '22': 'a value does not fit: check the call',
  '23': 'a value does not fit: check the call',
  '25006': 'this server is a read-only replica: give the address of the primary',
  '28': 'the server refuses this user: check the name, the password and pg_hba.conf',
  '3D000': 'create this database or name another',
  '42501': 'this user lacks a right: grant it, or let an owner of the schema make the tables once',
  '53100': "the server's disk is full: make room, then try again",
  '53200': 'the server has no memory left: try again later',
  '53300': 'the server has no connection left: lower `poolSize`, raise max_connections or put a pooler before it',
  '55P03': 'a lock was not free in time: try again',
  '57014': 'the server cancelled it (statement_timeout?): it did not happen; try again',
  '57P01': 'the server is shutting down: it may have happened or not; try again when it is back',
  '57P02': 'the server crashed: it may have happened or not; try again when it is back',
  '57P03': 'the server is starting or shutting down: try again when it is up',
}

const NO_ANSWER = 'no answer came in time: it may have happened or not; try again'
const NO_FREE_CONNECTION = 'no connection of the pool became free in time: raise `poolSize` or append less at once'
const NO_CONNECTION = 'cannot connect: check that the server runs and can be reached from here'
const CONNECT_ERRORS = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOENT',
  'EACCES',
])

/** Whether the transaction was rolled back because of another, so that it can be retried. */
export const isConflict = (error: unknown): boolean => ['40001', '40P01'].includes(codeOf(error) ?? '')

/** Whether a prepared statement is missing or outdated. Nothing happened then. */
export const isUnprepared = (error: unknown): boolean => ['26000', '42P05', '0A000'].includes(codeOf(error) ?? '')

/** Whether the statement certainly did not happen, because of one of its parts: a value, a lock, a conflict. */
export const isRolledBack = (error: unknown): boolean => /^(2[23]|40|55P03)/.test(codeOf(error) ?? '')

/** Whether the schema, a table or a function is missing. */
export const isMissing = (error: unknown): boolean => ['3F000', '42P01', '42883'].includes(codeOf(error) ?? '')

/** The error of a failed call: what happened where, and what to do. Never contains a password. */
export function failureOf(error: unknown, what: string, place: string): LogError {
  if (error instanceof LogError) return error
  const code = codeOf(error)
  const kind = /^2[23]/.test(code ?? '') ? 'invalid' : 'unavailable'
  return new LogError(kind, `postgres ${place}: ${what}: ${adviceOf(error, code)} (${messageOf(error)})`, {
    cause: error,
  })
}

function adviceOf(error: unknown, code: string | undefined): string {
  const message = messageOf(error)
  if (code && CONNECT_ERRORS.has(code)) return NO_CONNECTION
  if (/timeout exceeded when trying to connect/.test(message)) return NO_FREE_CONNECTION
  if (/connection timeout|timeout expired/.test(message)) return NO_CONNECTION
  if (/read timeout/.test(message)) return NO_ANSWER
  if (code === undefined || !/^[\dA-Z]{5}$/.test(code)) return ADVICE['08'] as string
  return ADVICE[code] ?? ADVICE[code.slice(0, 2)] ?? `the server failed with ${code}: see its log`
}

function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : undefined
}

// The error for several addresses has no message, so the first address's error is used.
function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return messageOf(error.errors[0])
  return error instanceof Error ? error.message : String(error)
}

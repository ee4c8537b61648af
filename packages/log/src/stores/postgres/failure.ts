import { LogError } from '../../store/log-error.ts'

// Advice by Postgres error code (appendix A of its manual) or class.
const ADVICE: Record<string, string> = {
  '08': 'the connection broke, and the call may have taken effect: try again',
  '22': 'the server rejected a value: check the arguments of the call',
  '23': 'the server rejected a value: check the arguments of the call',
  '25006': 'this server is a read-only replica: use the address of the primary',
  '28': 'the server rejected this user: check the name, the password and pg_hba.conf',
  '3D000': 'this database does not exist: create it, or use another',
  '42501': 'this user lacks a privilege: grant it, or let the owner of the schema create the tables',
  '53100': "the server's disk is full: free disk space, then try again",
  '53200': 'the server is out of memory: try again later',
  '53300': 'the server has no free connections: lower `poolSize`, raise max_connections or use a connection pooler',
  '55P03': 'timed out waiting for a lock: try again',
  '57014': 'the server cancelled the call, which had no effect: try again, or raise statement_timeout',
  '57P01': 'the server is shutting down, and the call may have taken effect: try again when it is back',
  '57P02': 'the server crashed, and the call may have taken effect: try again when it is back',
  '57P03': 'the server is starting or shutting down: try again when it is up',
}

const NO_ANSWER = 'timed out, and the call may have taken effect: try again'
const NO_FREE_CONNECTION = 'timed out waiting for a pooled connection: raise `poolSize`, or send fewer calls at once'
const NO_CONNECTION = 'cannot connect: check that the server is running and reachable from here'
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
export function failureOf(error: unknown, operation: string, address: string): LogError {
  if (error instanceof LogError) return error
  const code = codeOf(error)
  const kind = /^2[23]/.test(code ?? '') ? 'invalid' : 'unavailable'
  return new LogError(kind, `postgres ${address}: ${operation}: ${adviceOf(error, code)} (${messageOf(error)})`, {
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

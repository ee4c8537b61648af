import { RequestError } from '@millrace/client'
import { CommandError } from '../error/command-error.ts'
import type { Source } from './source.ts'

/** Converts a request error to the error of a command. */
export function requestFailure(error: unknown, source: Source): unknown {
  if (!(error instanceof RequestError)) return error
  const { code, message, status } = error
  if (code === 'session_unknown') {
    return new CommandError('not-found', `${message}. See millrace sessions`, code)
  }
  if (status === 401 || status === 403) {
    return new CommandError('failed', `${source.name}: ${message}. Set MILLRACE_TOKEN to a valid bearer token`, code)
  }
  if (code === 'store_unavailable') {
    return new CommandError('unreachable', `The store of ${source.name} is unavailable. See millrace doctor`, code)
  }
  if (status === undefined) {
    const next = 'start it with millrace dev, or choose another with --server or --store'
    return new CommandError('unreachable', `No server answers at ${source.name}: ${next}`, 'unreachable')
  }
  return new CommandError('failed', `${source.name}: ${message}`, code)
}

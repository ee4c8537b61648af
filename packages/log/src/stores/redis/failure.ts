import { LogError } from '../../store/log-error.ts'
import type { Server } from './connection.ts'

/** Error replies of Redis, and what to do about them. In none of these cases was anything written. */
const REFUSALS: readonly (readonly [RegExp, string])[] = [
  [/^OOM/, 'has no memory left: raise maxmemory, or trim and remove logs'],
  [/^READONLY/, 'is a replica: connect to the primary, or wait until the failover is over'],
  [/^MISCONF/, 'takes no writes because its last save to disk failed: free the disk and look into its log'],
  [/^(NOAUTH|WRONGPASS)/, 'wants other credentials: put user and password into the url'],
  [/^NOPERM/, "does not permit it: the user needs its keys, channels and commands, scripts and 'publish' too"],
  [/^LOADING/, 'is still loading its data: try again in a moment'],
  [/^BUSY/, "is busy with another client's script: wait, or end it with SCRIPT KILL"],
  [/^(MASTERDOWN|CLUSTERDOWN|TRYAGAIN|NOREPLICAS)/, 'is not complete at the moment: try again'],
  [/^(MOVED|CROSSSLOT)/, 'is a cluster, for which this store is not made: give it one server'],
]

/** Whether the server does not know the script yet. */
export const isUnknownScript = (error: unknown): boolean =>
  error instanceof Error && error.message.startsWith('NOSCRIPT')

/** The error of a call. It names the server and no secret of its URL. */
export function failure({ name, timeout, driver }: Omit<Server, 'client'>, error: unknown): LogError {
  if (error instanceof LogError) return error
  const message = messageOf(error)
  // The server answered, so the command is known to have failed.
  if (error instanceof driver.ErrorReply) {
    const [, hint] = REFUSALS.find(([pattern]) => pattern.test(message)) ?? [undefined, 'refused a command']
    return new LogError('unavailable', `Redis at ${name} ${hint} (${message})`, { cause: error })
  }
  // A client is destroyed only after a timeout.
  const why = error instanceof driver.DisconnectsClientError ? `within ${timeout} ms` : `(${message})`
  return new LogError('unavailable', `Redis at ${name} gave no answer ${why}: it may have happened or not`, {
    cause: error,
  })
}

/** The message of an error; of several addresses, that of the first. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return messageOf(error.errors[0])
  return error instanceof Error ? error.message || error.name : String(error)
}

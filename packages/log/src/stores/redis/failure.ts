import { LogError } from '../../store/log-error.ts'
import type { Server } from './connection.ts'

/** Error replies of Redis, and what to do about them. In none of these cases was anything written. */
const REFUSALS: readonly (readonly [RegExp, string])[] = [
  [/^OOM/, 'is out of memory: raise maxmemory, or trim and remove logs'],
  [/^READONLY/, 'is a replica: connect to the primary, or wait for the failover to finish'],
  [/^MISCONF/, 'rejects writes because its last save to disk failed: free disk space and check its log'],
  [/^(NOAUTH|WRONGPASS)/, 'rejected the credentials: set user and password in the url'],
  [/^NOPERM/, "denied the call: grant the user its keys, channels and commands, including scripts and 'publish'"],
  [/^LOADING/, 'is still loading its data: try again in a moment'],
  [/^BUSY/, "is blocked by another client's script: wait, or stop it with SCRIPT KILL"],
  [/^(MASTERDOWN|CLUSTERDOWN|TRYAGAIN|NOREPLICAS)/, 'is temporarily unavailable: try again in a moment'],
  [/^(MOVED|CROSSSLOT)/, 'is a cluster, which this store does not support: use a single server'],
]

/** Whether the server does not know the script yet. */
export const isUnknownScript = (error: unknown): boolean =>
  error instanceof Error && error.message.startsWith('NOSCRIPT')

/** The error of a call. It names the server and no secret of its URL. */
export function failure({ name, timeoutMs, driver }: Omit<Server, 'client'>, error: unknown): LogError {
  if (error instanceof LogError) return error
  const message = messageOf(error)
  // The server answered, so the command is known to have failed.
  if (error instanceof driver.ErrorReply) {
    const [, hint] = REFUSALS.find(([pattern]) => pattern.test(message)) ?? [undefined, 'refused a command']
    return new LogError('unavailable', `Redis at ${name} ${hint} (${message})`, { cause: error })
  }
  // A client is destroyed only after a timeout.
  const why = error instanceof driver.DisconnectsClientError ? `within ${timeoutMs} ms` : `(${message})`
  return new LogError(
    'unavailable',
    `Redis at ${name} did not answer ${why}, and the call may have taken effect: try again`,
    {
      cause: error,
    },
  )
}

/** The message of an error; of several addresses, that of the first. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return messageOf(error.errors[0])
  return error instanceof Error ? error.message || error.name : String(error)
}

import { LogError } from '../../store/log-error.ts'
import type { Server } from './connection.ts'

/** What Redis answers when it cannot do as asked, and what to do about it. In none of these cases was anything written. */
const REFUSALS: readonly (readonly [RegExp, string])[] = [
  [/^OOM/, 'has no memory left: raise maxmemory, or trim and remove logs'],
  [/^READONLY/, 'is a replica: connect to the primary, or wait until the failover is over'],
  [/^MISCONF/, 'takes no writes because its last save to disk failed: free the disk and look into its log'],
  [/^(NOAUTH|WRONGPASS)/, 'wants other credentials: put user and password into the url'],
  [/^NOPERM/, "does not permit it: the user needs its keys, channels and commands, scripts and 'publish' too"],
  [/^LOADING/, 'is still loading its data: try again in a moment'],
  [/^BUSY/, "is kept busy by somebody's script: wait, or end it with SCRIPT KILL"],
  [/^(MASTERDOWN|CLUSTERDOWN|TRYAGAIN|NOREPLICAS)/, 'is not complete at the moment: try again'],
  [/^(MOVED|CROSSSLOT)/, 'is a cluster, for which this store is not made: give it one server'],
]

/** Whether the server does not know the script yet. */
export const isUnknownScript = (error: unknown): boolean =>
  error instanceof Error && error.message.startsWith('NOSCRIPT')

/** What a call rejects with. It names the server and no secret of its url. */
export function failure({ name, timeout, driver }: Omit<Server, 'client'>, error: unknown): LogError {
  if (error instanceof LogError) return error
  const said = saidBy(error)
  // The server answered, so the command is known to have failed.
  if (error instanceof driver.ErrorReply) {
    const [, hint] = REFUSALS.find(([pattern]) => pattern.test(said)) ?? [undefined, 'refused a command']
    return new LogError('unavailable', `Redis at ${name} ${hint} (${said})`, { cause: error })
  }
  // A client is only ever cut off because it waited in vain.
  const why = error instanceof driver.DisconnectsClientError ? `within ${timeout} ms` : `(${said})`
  return new LogError('unavailable', `Redis at ${name} gave no answer ${why}: it may have happened or not`, {
    cause: error,
  })
}

/** The words of an error; where several addresses were tried in vain, of the first. */
function saidBy(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return saidBy(error.errors[0])
  return error instanceof Error ? error.message || error.name : String(error)
}

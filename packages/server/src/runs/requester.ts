// The caller of a request as the runtime takes it.

import type { RequestOptions } from '@millrace/runtime'
import type { Caller } from '../auth/authorize.ts'
import type { RouteCall } from '../routing/route.ts'

/** The caller as the log records it. */
export const guestOf = ({ label, owner }: Caller) => ({ guest: label, principal: owner })

/** The caller of answers. Without `authorize`, answers have no principal. */
export const answererOf = ({ label, owner, principal }: Caller) => ({
  guest: label,
  ...(owner !== null && { principal: owner }),
  ...(principal !== null && { caller: principal }),
})

/** The caller that asks for a run, with the context that the app's `context` option gives the run. */
export async function requesterOf({ services, request, body }: RouteCall, caller: Caller): Promise<RequestOptions> {
  const context = await services.contextOf(request, caller, body)
  return { ...guestOf(caller), ...(context !== undefined && { context }) }
}

import type { Caller, Program } from '../../auth/authorize.ts'
import type { RouteCall } from '../../routing/route.ts'
import { checkSessionId } from './names.ts'

/** Who asks, as `authorize` knows them for the route's action, this very session and the program that is asked for: for sessions that stand in a body or a query, before anything is read there. */
export async function callerInSession(
  { services, request, action, params, caller }: RouteCall,
  sessionId: string,
  program?: Program,
): Promise<Caller> {
  // For one that stands in the path it was asked at the gate.
  if (params['sessionId'] === sessionId) return caller
  return services.authorize(request, action, checkSessionId(sessionId), program)
}

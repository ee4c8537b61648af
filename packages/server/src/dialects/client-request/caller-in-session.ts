import type { Caller, Program } from '../../auth/authorize.ts'
import type { RouteCall } from '../../routing/route.ts'
import { checkSessionId } from './names.ts'

/** Authorizes a session that is named in the body or query, together with the program, before anything is read there. */
export async function callerInSession(
  { services, request, action, params, caller }: RouteCall,
  sessionId: string,
  program?: Program,
): Promise<Caller> {
  // A session in the path is authorized already.
  if (params['sessionId'] === sessionId) return caller
  return services.authorize(request, action, checkSessionId(sessionId), program)
}

// Who asks, and whether they may: asked before every route, and again now and then while somebody reads.

import { Refusal } from '../error.ts'

/** What somebody wants to do. */
export type Action =
  | 'health'
  | 'describe'
  | 'agents'
  | 'list'
  | 'create'
  | 'read'
  | 'follow'
  | 'run'
  | 'answer'
  | 'stop'
  | 'resume'
  | 'retry'
  | 'edit'
  | 'fork'
  | 'update'
  | 'delete'
  | 'upload'
  | 'download'

/** Somebody who may. */
export interface Principal {
  /** Whose sessions are theirs. */
  readonly principal: string
  /** What others who read the session see of them; their principal, if nothing is said. */
  readonly label?: string
  /** Whose session they may enter here, where it is not their own. */
  readonly owner?: string
}

/** Somebody who may not; without a status 403, and 401 asks them to say who they are. */
export interface NotAllowed {
  readonly refuse: string
  readonly status?: 401 | 403
}

export interface AuthorizeRequest {
  readonly request: Request
  /** The session that it is about, if it is about one. */
  readonly sessionId?: string
  readonly action: Action
}

/** Answers with a principal, or a refusal: null is one without a reason. */
export type Authorize = (
  asked: AuthorizeRequest,
) => string | Principal | NotAllowed | null | Promise<string | Principal | NotAllowed | null>

/** Who asks, as routes see them. */
export interface Caller {
  /** Null where nobody is asked who they are. */
  readonly principal: string | null
  /** Whose sessions they enter. */
  readonly owner: string | null
  /** What stands in the log. */
  readonly label: string
}

const NOBODY: Caller = { principal: null, owner: null, label: 'guest' }

/** Who asks; throws where they may not. Whatever `authorize` throws is the server's own fault, and nobody gets in by it. */
export async function callerOf(authorize: Authorize | undefined, asked: AuthorizeRequest): Promise<Caller> {
  if (authorize === undefined) return NOBODY
  const answer = await authorize(asked)
  if (answer === null || answer === undefined) throw new Refusal('unauthorized', 'say who you are')
  if (typeof answer === 'string') return caller({ principal: answer })
  if ('refuse' in answer) {
    throw new Refusal(answer.status === 401 ? 'unauthorized' : 'forbidden', String(answer.refuse))
  }
  return caller(answer)
}

function caller({ principal, label = principal, owner = principal }: Principal): Caller {
  for (const name of [principal, label, owner]) {
    if (typeof name !== 'string' || name === '') {
      throw new TypeError('authorize: expected a principal, as text or as { principal, label?, owner? }')
    }
  }
  return { principal, label, owner }
}

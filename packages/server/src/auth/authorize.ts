// Who asks, and whether they may: asked before every route, and again now and then while somebody reads.

import { Refusal } from '../errors/refusal.ts'

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

/** Refuses a request: 403, or 401 to ask for credentials. @default 403 */
export interface AuthorizeRefusal {
  readonly refuse: string
  readonly status?: 401 | 403
}

/** Who is to answer. */
export type Program =
  | { readonly agent: string; readonly workflow?: never }
  | { readonly workflow: string; readonly agent?: never }

export interface AuthorizeRequest {
  readonly request: Request
  /** The session that it is about, if it is about one. */
  readonly sessionId?: string
  readonly action: Action
  /** The agent or workflow that is asked for, wherever the request names it; not yet there before a body is read: then it is asked once more, with it. */
  readonly program?: Program
}

/** Answers with a principal, or a refusal: null is one without a reason. */
export type Authorize = (
  asked: AuthorizeRequest,
) => string | Principal | AuthorizeRefusal | null | Promise<string | Principal | AuthorizeRefusal | null>

/** Who asks, as routes see them. */
export interface Caller {
  /** Null where nobody is asked who they are. */
  readonly principal: string | null
  /** Whose sessions they enter. */
  readonly owner: string | null
  /** What stands in the log. */
  readonly label: string
}

const ANONYMOUS: Caller = { principal: null, owner: null, label: 'guest' }

/** Who asks; throws where they may not. Whatever `authorize` throws is the server's own fault: nobody gets in by it, and nobody is told its words. */
export async function callerOf(authorize: Authorize | undefined, asked: AuthorizeRequest): Promise<Caller> {
  if (authorize === undefined) return ANONYMOUS
  let answer: Awaited<ReturnType<Authorize>> | undefined
  try {
    answer = await authorize(asked)
  } catch (cause) {
    // A body that it read, and that is none, is its sender's fault.
    if (cause instanceof Refusal) throw cause
    throw new Error('authorize: it threw', { cause })
  }
  if (answer === null || answer === undefined) throw unauthorized('say who you are')
  if (typeof answer === 'string') return callerFrom({ principal: answer })
  if (typeof answer !== 'object') throw invalidPrincipal()
  if (!('refuse' in answer)) return callerFrom(answer)
  const { refuse, status } = answer
  if (typeof refuse !== 'string') throw invalidPrincipal()
  throw status === 401 ? unauthorized(refuse) : new Refusal('forbidden', refuse)
}

function callerFrom({ principal, label = principal, owner = principal }: Principal): Caller {
  if (![principal, label, owner].every(isLoggable)) throw invalidPrincipal()
  return { principal, label, owner }
}

/** Whether a name can stand in a log. */
const isLoggable = (name: unknown): boolean =>
  typeof name === 'string' && name !== '' && name.length <= MAX_LENGTH && name.isWellFormed()

const MAX_LENGTH = 512

const unauthorized = (why: string) => new Refusal('unauthorized', why, { headers: { 'www-authenticate': 'Bearer' } })

const invalidPrincipal = () =>
  new TypeError(
    `authorize: expected a principal of 1 to ${MAX_LENGTH} characters, as text or as { principal, label?, owner? }, { refuse, status? } or null`,
  )

// Authorization: runs before every route, and again at intervals while a stream is open.

import { HttpError } from '../errors/http-error.ts'

/** The action of a request, one for each kind of route. */
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

/** A caller that `authorize` accepts. */
export interface Principal {
  /** Identifies the caller. Sessions that the caller creates belong to this principal. */
  readonly principal: string
  /** Name of the caller that other readers of the session see. @default `principal` */
  readonly label?: string
  /** Owner of the sessions that this request may access, if not the caller. @default `principal` */
  readonly owner?: string
}

/** Refuses a request: with 403, or with 401 to ask for credentials. */
export interface AuthorizeRefusal {
  /** Reason for the client. */
  readonly refuse: string
  /** HTTP status of the reply. @default 403 */
  readonly status?: 401 | 403
}

/** The program that a request names. */
export type Program =
  | { readonly agent: string; readonly workflow?: never }
  | { readonly workflow: string; readonly agent?: never }

/** A request to authorize. */
export interface AuthorizeRequest {
  /** The HTTP request. */
  readonly request: Request
  /** The session of the request; undefined for requests without one. */
  readonly sessionId?: string
  /** The requested action. */
  readonly action: Action
  /** The agent or workflow that the request names. If the body names it, `authorize` runs twice: before the body is read without it, then with it. */
  readonly program?: Program
}

/** Returns the principal of an accepted request, a refusal with a reason, or null to refuse without a reason (401). */
export type Authorize = (
  request: AuthorizeRequest,
) => string | Principal | AuthorizeRefusal | null | Promise<string | Principal | AuthorizeRefusal | null>

/** The caller of a request, as routes see it. */
export interface Caller {
  /** Null if the app has no `authorize`. */
  readonly principal: string | null
  /** Owner of the sessions that the caller may access. */
  readonly owner: string | null
  /** Name of the caller in log entries. */
  readonly label: string
}

const ANONYMOUS: Caller = { principal: null, owner: null, label: 'guest' }

/** Runs `authorize`. @throws a refusal; anything that `authorize` itself throws is an internal error, and its message stays hidden */
export async function callerOf(authorize: Authorize | undefined, request: AuthorizeRequest): Promise<Caller> {
  if (authorize === undefined) return ANONYMOUS
  let answer: Awaited<ReturnType<Authorize>> | undefined
  try {
    answer = await authorize(request)
  } catch (cause) {
    // `authorize` read a body that is invalid: the client's fault.
    if (cause instanceof HttpError) throw cause
    throw new Error('authorize: expected a principal or a refusal, but the function threw', { cause })
  }
  if (answer === null || answer === undefined)
    throw unauthorized('credentials: expected valid credentials: sign in and try again')
  if (typeof answer === 'string') return callerFrom({ principal: answer })
  if (typeof answer !== 'object') throw invalidPrincipal()
  if (!('refuse' in answer)) return callerFrom(answer)
  const { refuse, status } = answer
  if (typeof refuse !== 'string') throw invalidPrincipal()
  throw status === 401 ? unauthorized(refuse) : new HttpError('forbidden', refuse)
}

function callerFrom({ principal, label = principal, owner = principal }: Principal): Caller {
  if (![principal, label, owner].every(isLoggable)) throw invalidPrincipal()
  return { principal, label, owner }
}

/** Whether a name is valid in log entries. */
const isLoggable = (name: unknown): boolean =>
  typeof name === 'string' && name !== '' && name.length <= MAX_PRINCIPAL_LENGTH && name.isWellFormed()

/** Maximum length of a principal, label or owner, in characters. */
const MAX_PRINCIPAL_LENGTH = 512

const unauthorized = (message: string) =>
  new HttpError('unauthorized', message, { headers: { 'www-authenticate': 'Bearer' } })

const invalidPrincipal = () =>
  new TypeError(
    `authorize: expected a principal of 1 to ${MAX_PRINCIPAL_LENGTH} characters, as text or as { principal, label?, owner? }, { refuse, status? } or null`,
  )

import type { Headers as ReplyHeaders } from '../http/reply.ts'

/** Which other origins' pages may call. */
export interface Cors {
  /** `https://app.example.com`; compared as they are. */
  readonly origins: readonly string[] | ((origin: string) => boolean)
  /** Whether they may send cookies along. */
  readonly credentials?: boolean
}

const METHODS = 'GET, POST, PATCH, DELETE'
const EXPOSED = 'X-Session-Id, X-Run-Id, X-Existing-Message-Id, Retry-After, Content-Disposition'

/** Whether the pages of an origin may call. */
export function isAllowed(cors: Cors | undefined, origin: string): boolean {
  if (cors === undefined || origin === 'null') return false
  const { origins } = cors
  return typeof origins === 'function' ? origins(origin) === true : origins.includes(origin)
}

/** What a reply says of that; nothing where the origin is not one of them. */
export function corsHeaders(cors: Cors | undefined, request: Request): ReplyHeaders {
  if (cors === undefined) return {}
  const origin = request.headers.get('origin')
  if (origin === null || !isAllowed(cors, origin)) return { vary: 'Origin' }
  return {
    vary: 'Origin',
    'access-control-allow-origin': origin,
    'access-control-expose-headers': EXPOSED,
    ...(cors.credentials && { 'access-control-allow-credentials': 'true' }),
  }
}

/** What a browser that asks beforehand is told. */
export function preflight(cors: Cors | undefined, request: Request): ReplyHeaders | undefined {
  if (request.method !== 'OPTIONS' || !request.headers.has('access-control-request-method')) return undefined
  const headers = corsHeaders(cors, request)
  if (!('access-control-allow-origin' in headers)) return headers
  return {
    ...headers,
    'access-control-allow-methods': METHODS,
    'access-control-allow-headers': request.headers.get('access-control-request-headers') ?? '',
    'access-control-max-age': '600',
  }
}

import type { Headers as ReplyHeaders } from '../http/reply.ts'

/** Cross-origin access: pages of these origins may call this server. */
export interface Cors {
  /** Allowed origins, such as `https://app.example.com`, compared exactly; or a function that decides. */
  readonly origins: readonly string[] | ((origin: string) => boolean)
  /** Whether requests may include cookies. @default false */
  readonly credentials?: boolean
}

const METHODS = 'GET, POST, PATCH, DELETE'
const EXPOSED = 'X-Session-Id, X-Run-Id, X-Existing-Message-Id, Retry-After, Content-Disposition'

/** Whether pages of this origin may call the server. */
export function isAllowed(cors: Cors | undefined, origin: string): boolean {
  if (cors === undefined || origin === 'null') return false
  const { origins } = cors
  return typeof origins === 'function' ? origins(origin) === true : origins.includes(origin)
}

/** CORS headers of a reply. An origin that is not allowed gets none but `Vary`. */
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

/** Headers for a CORS preflight; undefined if the request is none. */
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

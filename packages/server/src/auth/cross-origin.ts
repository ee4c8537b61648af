// Pages of other origins must not change anything with the cookies of their visitors (CSRF).

import { HttpError } from '../errors/http-error.ts'
import { type Cors, isAllowed } from './cors.ts'

/** Methods that change nothing. */
const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/** Whether a `Sec-Fetch-Site` value belongs to a request of the server's own pages or of the user. */
const isOwnSite = (site: string): boolean => site === 'same-origin' || site === 'none'

/**
 * Whether a request comes from a page of this server, a page of the `cors` option, the user, or a program. The browser
 * sets `Sec-Fetch-Site`, also behind a proxy that rewrites the host. Browsers that do not send it send `Origin` with
 * changes. A program sends neither.
 */
function isFromOwnPage(request: Request, url: URL, cors: Cors | undefined): boolean {
  const { headers } = request
  const site = headers.get('sec-fetch-site')
  const origin = headers.get('origin')
  if (site !== null && isOwnSite(site)) return true
  if (origin !== null && isAllowed(cors, origin)) return true
  if (site !== null) return false
  // A proxy may have terminated TLS, so the schemes may differ.
  return origin === null || hostOf(origin) === (headers.get('host') ?? url.host)
}

/** Refuses changes that a page of another origin requests. @throws `origin_forbidden` */
export function assertOwnPage(request: Request, url: URL, cors: Cors | undefined): void {
  if (SAFE_METHODS.has(request.method) || isFromOwnPage(request, url, cors)) return
  throw originForbidden()
}

/** The error for a request from a page of another origin. */
export const originForbidden = (): HttpError =>
  new HttpError('origin_forbidden', 'origin: expected a page of this server: name other origins in the cors option')

/** The host and port of an origin; undefined if it is none, such as `null`. */
export function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined
}

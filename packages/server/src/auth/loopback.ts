// An app without `authorize` serves only this machine: requests from other hosts and from pages of other origins are refused.

import { HttpError } from '../errors/http-error.ts'
import { isLoopback } from '../http/loopback-host.ts'
import { type Cors, isAllowed } from './cors.ts'
import { hostOf, originForbidden } from './cross-origin.ts'

/** Whether a `Sec-Fetch-Site` value belongs to a request of the server's own pages, of the user, or of a program, which sends none. */
export const isOwnSite = (site: string | string[] | null | undefined): boolean =>
  site === null || site === undefined || site === 'same-origin' || site === 'none'

/** Checks that a request is local. Refuses other host names (DNS rebinding) and other origins. @throws `host_forbidden` or `origin_forbidden` */
export function assertLocal(request: Request, url: URL, cors: Cors | undefined): void {
  const { headers, method } = request
  const host = headers.get('host') ?? url.host
  if (!isLoopback(host) || !isLoopback(url.host)) throw hostForbidden()
  const origin = headers.get('origin')
  const site = headers.get('sec-fetch-site')
  if (origin !== null) {
    if (origin === url.origin || isAllowed(cors, origin)) return
    // A proxy on this machine, such as that of a dev server, has rewritten the host.
    if (site === 'same-origin' && isLoopback(hostOf(origin) ?? '')) return
    throw originForbidden()
  }
  if (isOwnSite(site)) return
  // A link from another page: the user sees the result, that page does not.
  if (
    method === 'GET' &&
    headers.get('sec-fetch-mode') === 'navigate' &&
    headers.get('sec-fetch-dest') === 'document'
  ) {
    return
  }
  throw originForbidden()
}

/** The error for a request from another machine. */
export const hostForbidden = (): HttpError =>
  new HttpError('host_forbidden', 'host: expected localhost: set the authorize option to accept other hosts')

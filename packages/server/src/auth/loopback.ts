// An app without `authorize` serves only this machine: requests from other hosts and from pages of other origins are refused.

import { HttpError } from '../errors/http-error.ts'
import { isLoopback } from '../http/loopback-host.ts'
import { type Cors, isAllowed } from './cors.ts'

/** Whether a `Sec-Fetch-Site` value belongs to a request of the server's own pages, of the user, or of a program, which sends none. */
export const isOwnSite = (site: string | string[] | null | undefined): boolean =>
  site === null || site === undefined || site === 'same-origin' || site === 'none'

/** Checks that a request is local. Refuses other host names (DNS rebinding) and other origins. @throws `host_forbidden` or `origin_forbidden` */
export function assertLocal(request: Request, url: URL, cors: Cors | undefined): void {
  const { headers, method } = request
  const host = headers.get('host') ?? url.host
  if (!isLoopback(host) || !isLoopback(url.host)) throw hostForbidden()
  const origin = headers.get('origin')
  if (origin !== null) {
    if (origin === url.origin || isAllowed(cors, origin)) return
    throw new HttpError('origin_forbidden', 'origin: expected a page of this server or an origin of the cors option')
  }
  if (isOwnSite(headers.get('sec-fetch-site'))) return
  // A link from another page: the user sees the result, that page does not.
  if (
    method === 'GET' &&
    headers.get('sec-fetch-mode') === 'navigate' &&
    headers.get('sec-fetch-dest') === 'document'
  ) {
    return
  }
  throw new HttpError(
    'origin_forbidden',
    'sec-fetch-site: expected same-origin or none: open the page from this server',
  )
}

/** The error for a request from another machine. */
export const hostForbidden = (): HttpError =>
  new HttpError('host_forbidden', 'host: expected localhost: set the authorize option to accept other hosts')

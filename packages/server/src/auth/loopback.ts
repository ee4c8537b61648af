// A server that asks nobody who they are is for this machine alone: no other host, and no web page, may reach it.

import { Refusal } from '../errors/refusal.ts'
import { isLoopback } from '../http/loopback-host.ts'
import { type Cors, isAllowed } from './cors.ts'

/** What a browser says of a request that a page of this server makes, or a person. */
const OWN_SITES: readonly (string | null)[] = [null, 'same-origin', 'none']

/** Throws where a request came by another name, as of a page that has its own name point here, or from a page of another origin. */
export function assertLocal(request: Request, url: URL, cors: Cors | undefined): void {
  const { headers, method } = request
  const host = headers.get('host') ?? url.host
  if (!isLoopback(host) || !isLoopback(url.host)) throw hostForbidden()
  const origin = headers.get('origin')
  if (origin !== null) {
    if (origin === url.origin || isAllowed(cors, origin)) return
    throw new Refusal('origin_forbidden', 'origin: expected a page of this server, or one that cors names')
  }
  if (OWN_SITES.includes(headers.get('sec-fetch-site'))) return
  // Who follows a link here sees what it shows; the page that it was on does not.
  if (
    method === 'GET' &&
    headers.get('sec-fetch-mode') === 'navigate' &&
    headers.get('sec-fetch-dest') === 'document'
  ) {
    return
  }
  throw new Refusal('origin_forbidden', 'sec-fetch-site: expected a page of this server')
}

/** What somebody who is elsewhere is told. */
export const hostForbidden = (): Refusal =>
  new Refusal('host_forbidden', 'host: expected localhost: give the server an authorize to be reached from elsewhere')

// A server that asks nobody who they are is for this machine alone: no other host, and no web page, may reach it.

import { Refusal } from '../error.ts'
import { type Cors, isAllowed } from './cors.ts'

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i

/** Whether a host is this machine, as it calls itself. */
export const isLoopback = (host: string): boolean => LOOPBACK.test(host)

/** Throws where a request came by another name, as of a page that has its own name point here, or from a page of another origin. */
export function mustBeLocal(request: Request, url: URL, cors: Cors | undefined): void {
  const host = request.headers.get('host') ?? url.host
  if (!isLoopback(host) || !isLoopback(url.host)) {
    throw new Refusal(
      'host_forbidden',
      'host: expected localhost: give the server an authorize to be reached from elsewhere',
    )
  }
  const origin = request.headers.get('origin')
  if (origin !== null && origin !== url.origin && !isAllowed(cors, origin)) {
    throw new Refusal('origin_forbidden', 'origin: expected a page of this server, or one that cors names')
  }
  if (origin === null && request.headers.get('sec-fetch-site') === 'cross-site') {
    throw new Refusal('origin_forbidden', 'sec-fetch-site: expected a page of this server')
  }
}

// Accepts fault requests only from the studio page and programs on this machine.

import type { IncomingMessage } from 'node:http'

/** Why a request is refused. */
export interface Refused {
  readonly status: number
  readonly code: string
  readonly message: string
}

const LOOPBACK_HOST = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i
const LOOPBACK_ADDRESS = /^(::1|(::ffff:)?127(\.\d{1,3}){3})$/i
/** The `Sec-Fetch-Site` values of requests from a page of this server or from the user. */
const OWN_SITES: readonly unknown[] = [undefined, 'same-origin', 'none']

/** Returns why a request is not from this server's page or a local program, or undefined if it is. */
export function refusalOf(message: IncomingMessage): Refused | undefined {
  const { headers, rawHeaders, socket } = message
  const hosts = rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host')
  const { host = '', origin } = headers
  if (hosts.length !== 1 || !LOOPBACK_HOST.test(host) || !LOOPBACK_ADDRESS.test(socket.remoteAddress ?? '')) {
    return { status: 403, code: 'host_forbidden', message: 'host: expected localhost' }
  }
  const isOwn = origin === undefined ? OWN_SITES.includes(headers['sec-fetch-site']) : origin === `http://${host}`
  if (isOwn) return undefined
  return { status: 403, code: 'origin_forbidden', message: 'origin: expected a page of this server' }
}

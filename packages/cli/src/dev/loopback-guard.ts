// Who may pull the plug: the studio's own page on this machine, and nobody else.

import type { IncomingMessage } from 'node:http'

/** Why a request is refused. */
export interface Refused {
  readonly status: number
  readonly code: string
  readonly message: string
}

const LOOPBACK_HOST = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i
const LOOPBACK_ADDRESS = /^(::1|(::ffff:)?127(\.\d{1,3}){3})$/i
/** What a browser says of a request that a page of this server makes, or a person. */
const OWN_SITES: readonly unknown[] = [undefined, 'same-origin', 'none']

/** Why a request is none of this server's own page, or of a program on this machine; undefined where it is. */
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

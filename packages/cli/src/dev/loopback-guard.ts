// Accepts fault requests only from the studio page and programs on this machine.

import type { IncomingMessage } from 'node:http'
import { isLoopback, isLoopbackAddress, isOwnSite } from '@millrace/server/internal'

/** Why a request is refused. */
export interface Refusal {
  readonly status: number
  readonly code: string
  readonly message: string
}

/** Returns why a request is not from this server's page or a local program, or undefined if it is. */
export function refusalOf(message: IncomingMessage): Refusal | undefined {
  const { headers, rawHeaders, socket } = message
  const hosts = rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host')
  const { host = '', origin } = headers
  if (hosts.length !== 1 || !isLoopback(host) || !isLoopbackAddress(socket.remoteAddress ?? '')) {
    return { status: 403, code: 'host_forbidden', message: 'host: expected a request from this machine to localhost' }
  }
  const isOwn = origin === undefined ? isOwnSite(headers['sec-fetch-site']) : origin === `http://${host}`
  if (isOwn) return undefined
  return { status: 403, code: 'origin_forbidden', message: 'origin: expected a page of this server' }
}

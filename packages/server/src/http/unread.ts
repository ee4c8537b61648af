// What Node could not read as HTTP, refused in the words in which everything else is.

import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { refused } from './reply.ts'

const STATUSES: Readonly<Record<string, readonly [status: number, why: string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'headers: expected fewer'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'body: expected no extensions of its chunks'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'the request did not come in time'],
}

/** Answers on a socket on which no request could be read, and closes it. */
export function refuseUnread(error: Error & { readonly code?: string }, socket: Duplex): void {
  // Whoever reads an answer already would take this for a part of it.
  const { headersSent = false } = (socket as { _httpMessage?: { headersSent?: boolean } | null })._httpMessage ?? {}
  if (!socket.writable || headersSent) {
    socket.destroy()
    return
  }
  const [status, message] = STATUSES[error.code ?? ''] ?? [400, 'expected a request that HTTP knows']
  const { headers, body } = refused(status, { code: 'request_invalid', message, retryable: status === 408 })
  const said = { ...headers, 'content-length': Buffer.byteLength(body as string), connection: 'close' }
  const lines = Object.entries(said).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`, () => socket.destroy())
}

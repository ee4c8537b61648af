// HTTP as text on a socket, for requests that no client would send.

import { connect } from 'node:net'

/** Writes pieces to a port one after the other, and resolves with all received bytes when the server closes. */
export function sendRaw(port: number, ...pieces: readonly (string | Buffer)[]): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const socket = connect(port, '127.0.0.1')
  let received = ''
  socket.on('data', data => {
    received += data.toString('latin1')
  })
  // A server that refuses a request may close before it has received all of it.
  socket.on('error', error => (received === '' ? reject(error) : resolve(received)))
  socket.on('close', () => resolve(received))
  for (const piece of pieces) socket.write(piece)
  return promise
}

/** A reply on a socket. */
export function replyIn(text: string): {
  readonly status: number
  readonly code: string | undefined
  readonly count: number
} {
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1])
  const code = /"code":"(\w+)"/.exec(text)?.[1]
  return { status, code, count: text.split(/^HTTP\/1\.1 /m).length - 1 }
}

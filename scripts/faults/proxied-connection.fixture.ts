import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { type Direction, proxy } from './proxy.ts'

/** One end of a connection and its events. It stays half-open when the other end has ended. */
export type ObservedEnd = {
  socket: Socket
  received(): Buffer
  /** Resolves when at least `length` bytes are received. */
  has(length: number): Promise<void>
  ended: Promise<void>
  /** Resolves when the other end has ended or failed. */
  left: Promise<void>
  /** Resolves with the error code, if any. */
  closed: Promise<string | undefined>
}

export function observe(socket: Socket): ObservedEnd {
  const pieces: Buffer[] = []
  let length = 0
  let code: string | undefined
  socket.on('data', (bytes: Buffer) => {
    pieces.push(bytes)
    length += bytes.length
    socket.emit('received')
  })
  socket.on('error', (error: NodeJS.ErrnoException) => {
    code = error.code
  })
  const when = (name: string) => new Promise<void>(resolve => socket.once(name, () => resolve()))
  const [ended, closed] = [when('end'), when('close')]
  return {
    socket,
    received: () => Buffer.concat(pieces),
    async has(wanted) {
      while (length < wanted) await when('received')
    },
    ended,
    left: Promise.race([ended, closed]),
    closed: closed.then(() => code),
  }
}

/** A server, a proxy before it, and connections through the proxy. All are closed after the test. */
export async function setUpProxy() {
  const accepted: ((socket: Socket) => void)[] = []
  const sockets = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true }, socket => {
    sockets.add(socket)
    accepted.shift()?.(socket)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string')
    throw new Error(`expected a server with a port, found ${address}`)
  const gate = await proxy({ host: '127.0.0.1', port: address.port })
  onTestFinished(async () => {
    await gate.stop()
    for (const socket of sockets) socket.destroy()
    await once(server.close(), 'close')
  })
  /** Both ends of a new connection, and its link in the proxy. */
  async function open() {
    const acceptance = new Promise<Socket>(resolve => accepted.push(resolve))
    const linked = gate.event('connect')
    const socket = connect({ port: gate.port, host: '127.0.0.1', allowHalfOpen: true })
    sockets.add(socket)
    const client = observe(socket)
    const [link, acceptedSocket] = await Promise.all([linked, acceptance])
    const target = observe(acceptedSocket)
    return {
      link,
      ends: { up: [client, target], down: [target, client] } as Record<Direction, [ObservedEnd, ObservedEnd]>,
    }
  }
  return { gate, open, server }
}

/** Bytes without repeating sequences. */
export function payload(length: number): Buffer {
  return Buffer.from(Uint32Array.from({ length: Math.ceil(length / 4) }, (_, i) => i * 2654435761).buffer).subarray(
    0,
    length,
  )
}

/** Writes `bytes` in pieces of `size` bytes. */
export function sendInPieces(socket: Socket, bytes: Buffer, size: number): void {
  for (let from = 0; from < bytes.length; from += size) socket.write(bytes.subarray(from, from + size))
}

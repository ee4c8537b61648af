import { once } from 'node:events'
import { createServer, get, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { systemTimers } from '@millrace/log'
import { afterEach, expect, test, vi } from 'vitest'
import { respond } from './node.ts'
import type { Sink } from './reply.ts'
import { isDirect, SocketSink } from './socket-sink.ts'

const closers: (() => void)[] = []
afterEach(() => {
  for (const close of closers.splice(0)) close()
})

/** A server that exposes its responses after their headers are sent, and its URL. */
async function served(take: (response: ServerResponse, message: IncomingMessage) => void): Promise<number> {
  const server = createServer((message, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.flushHeaders()
    take(response, message)
  })
  return listening(server)
}

async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closers.push(() => server.close())
  closers.push(() => server.closeAllConnections())
  return (server.address() as AddressInfo).port
}

async function readTo(port: number): Promise<{ text: string; complete: boolean }> {
  const [message] = (await once(get({ port, agent: false }), 'response')) as [IncomingMessage]
  let text = ''
  for await (const piece of message.setEncoding('utf8')) text += piece
  return { text, complete: message.complete }
}

test('sends every piece to every reader, including pieces that others got before, and an end', async () => {
  const sinks: SocketSink[] = []
  const [here, come] = [Promise.withResolvers<void>(), 2]
  const port = await served(response => {
    expect(isDirect(response)).toBe(true)
    sinks.push(new SocketSink(response))
    if (sinks.length === come) here.resolve()
  })
  const reading = Array.from({ length: come }, () => readTo(port))
  await here.promise
  const [one, none, two] = [
    Buffer.from('data: grün\n\n'),
    Buffer.alloc(0),
    Buffer.from(`data: ${'x'.repeat(70_000)}\n\n`),
  ]
  for (const bytes of [one, two, none, one]) for (const sink of sinks) sink.write(bytes)
  for (const sink of sinks) sink.end()
  for (const sink of sinks) sink.write(one)
  const text = `${one}${two}${one}`
  expect(await Promise.all(reading)).toEqual([
    { text, complete: true },
    { text, complete: true },
  ])
})

test('counts buffered and flushed bytes, and reports drain and close', async () => {
  const opened = Promise.withResolvers<ServerResponse>()
  const port = await served(opened.resolve)
  const clientRequest = get({ port, agent: false })
  const [message] = (await once(clientRequest, 'response')) as [IncomingMessage]
  message.pause()
  const response = await opened.promise
  const { socket } = response
  const listeners = socket?.listenerCount('drain')
  const sink = new SocketSink(response)
  expect(socket?.listenerCount('drain')).toBe(Number(listeners) + 1)
  const closed = new Promise<void>(resolve => {
    sink.onClose = resolve
  })
  const [bytes, little] = [Buffer.alloc(1024 * 1024, 'x'), Buffer.alloc(100, 'x')]
  // More than any kernel buffers for a client that reads nothing.
  while (sink.buffered < 4 * bytes.length) {
    sink.write(bytes)
    await turn()
  }
  const before = sink.flushed
  const drained = new Promise<void>(resolve => {
    sink.onDrain = resolve
  })
  message.resume()
  await drained
  expect(sink.buffered).toBe(0)
  expect(sink.flushed).toBeGreaterThan(before)
  // Small writes are reported too, once they are flushed.
  message.pause()
  do {
    sink.write(little)
    expect(sink.buffered).toBeGreaterThanOrEqual(little.length)
    await turn()
  } while (sink.buffered === 0)
  const again = new Promise<void>(resolve => {
    sink.onDrain = resolve
  })
  message.resume()
  await again
  expect(sink.buffered).toBe(0)
  sink.destroy()
  await closed
  expect(socket?.listenerCount('drain')).toBe(listeners)
})

test('does not bypass a response that is wrapped, has no body, or is not chunked', async () => {
  const writable: boolean[] = []
  const port = await served((response, message) => {
    if (message.url === '/wrapped') {
      const write = response.write.bind(response)
      response.write = write as typeof response.write
    }
    writable.push(isDirect(response))
    response.end()
  })
  for (const options of [{ path: '/wrapped' }, { method: 'HEAD' }, { path: '/' }]) {
    const clientRequest = request({ port, agent: false, ...options }).end()
    const [message] = (await once(clientRequest, 'response')) as [IncomingMessage]
    message.resume()
    await once(message, 'end')
  }
  expect(writable).toEqual([false, false, true])
})

/** Counts the writes of a socket. */
function writesOf(socket: Socket) {
  const spies = (['_write', '_writev'] as const).map(name => vi.spyOn(socket, name))
  return () => {
    const count = spies.reduce((sum, { mock }) => sum + mock.calls.length, 0)
    for (const spy of spies) spy.mockClear()
    return count
  }
}

test.each([
  ['written to its socket', (_: ServerResponse) => {}],
  [
    'that a framework wraps',
    (response: ServerResponse) => {
      response.write = response.write.bind(response) as typeof response.write
    },
  ],
])(
  'combines all writes of one event loop iteration to a response %s into one write, together with the end',
  async (_, wrap) => {
    const opened = Promise.withResolvers<[Sink, Socket]>()
    const server = createServer((message, response) => {
      wrap(response)
      const stream = (sink: Sink) => opened.resolve([sink, response.socket as Socket])
      respond({ status: 200, headers: {}, stream }, message, response, { timers: systemTimers, stallMs: 30_000 })
    })
    const port = await listening(server)
    const reading = readTo(port)
    const [sink, socket] = await opened.promise
    const writes = writesOf(socket)
    const write = (from: number, to: number) => {
      for (let i = from; i < to; i++) sink.write(Buffer.from(`${i} `))
    }
    // Within one task, and in its microtasks.
    write(0, 5)
    queueMicrotask(() => write(5, 10))
    process.nextTick(() => write(10, 15))
    expect(writes()).toBe(0)
    await turn()
    expect(writes()).toBe(1)
    await expect.poll(() => sink.buffered).toBe(0)
    // One iteration with a write, one without.
    write(15, 16)
    await turn()
    expect(writes()).toBe(1)
    await turn()
    expect(writes()).toBe(0)
    write(16, 20)
    sink.end()
    await turn()
    expect(writes()).toBe(1)
    const words = Array.from({ length: 20 }, (_, i) => `${i} `)
    expect(await reading).toEqual({ text: words.join(''), complete: true })
  },
)

test('reports drain of a full sink after the writes of the iteration are flushed', async () => {
  const opened = Promise.withResolvers<ServerResponse>()
  const reading = readTo(await served(opened.resolve))
  const sink = new SocketSink(await opened.promise)
  for (const length of [1, 5_000]) {
    const drained = new Promise<void>(resolve => {
      sink.onDrain = resolve
    })
    sink.write(Buffer.alloc(length, 'x'))
    expect(sink.buffered).toBeGreaterThan(length)
    await drained
    expect(sink.buffered).toBe(0)
  }
  const lost = expect(reading).rejects.toThrow('aborted')
  sink.write(Buffer.from('lost'))
  sink.destroy()
  await lost
})

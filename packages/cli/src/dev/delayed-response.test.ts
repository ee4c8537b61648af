import { once } from 'node:events'
import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { delayResponse } from './delayed-response.ts'

const PIECE = Buffer.alloc(16 * 1024)
const ENOUGH = 256 * 1024

/** A delayed response and its reader. */
async function delayedReply(delay: () => number): Promise<{ response: ServerResponse; reply: IncomingMessage }> {
  const server = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  await once(server, 'listening')
  const clientRequest = get({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', agent: false })
  clientRequest.on('error', () => {})
  const [, response]: ServerResponse[] = (await once(server, 'request')) as never
  if (response === undefined) throw new Error('expected a request')
  // The headers are sent before any delayed write.
  response.writeHead(200).flushHeaders()
  delayResponse(response, delay)
  const [reply]: IncomingMessage[] = (await once(clientRequest, 'response')) as never
  if (reply === undefined) throw new Error('expected a response')
  return { response, reply }
}

test('delayed bytes apply backpressure like unsent bytes', async () => {
  let delay = 60_000
  const { response, reply } = await delayedReply(() => delay)
  reply.resume()
  // Like the server: writes until the buffer is full.
  let written = 0
  while (response.writableLength < ENOUGH && written < 10 * ENOUGH) {
    expect(response.write(PIECE)).toBe(false)
    written += PIECE.length
  }
  expect(written).toBe(ENOUGH)
  expect(response.writableLength).toBeGreaterThanOrEqual(ENOUGH)
  delay = 0
  // Later writes keep the order and are delayed too.
  expect(response.write(PIECE)).toBe(false)
  expect(response.writableLength).toBeGreaterThanOrEqual(ENOUGH + PIECE.length)
})

test('sends delayed writes in order, emits drain, and then counts no delayed bytes', async () => {
  let delay = 1
  const { response, reply } = await delayedReply(() => delay)
  const drained = once(response, 'drain')
  for (const piece of ['a', 'b', 'c']) response.write(piece)
  delay = 0
  response.write('d')
  let text = ''
  reply.setEncoding('utf8').on('data', (piece: string) => {
    text += piece
  })
  await drained
  expect(response.write('e')).toBe(true)
  response.end()
  await once(reply, 'end')
  expect([text, response.writableLength]).toEqual(['abcde', 0])
})

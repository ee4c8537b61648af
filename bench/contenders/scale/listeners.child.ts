// Readers in a child process. Each sends a request and reads the answer as SSE.
import { request } from 'node:http'
import { createParser } from 'eventsource-parser'
import { handleRequests } from '../log/start-child.ts'

/** Connections that are opened at once. Servers accept no more. */
const WAVE = 100

/** A request for an answer. */
export interface AnswerRequest {
  readonly path: string
  /** JSON body of a POST. Without it the request is a GET. */
  readonly body?: string
}

/** Send requests and read until each has `length` characters, or read to the end. */
export type ListenersRequest =
  | { kind: 'connect'; port: number; requests: readonly AnswerRequest[]; length: number }
  | { kind: 'end' }

/** Number of readers by received text. */
export interface ListenersReply {
  readonly texts: [text: string, readers: number][]
}

interface Listener {
  readonly text: () => string
  readonly ended: Promise<void>
}

let listeners: Listener[] = []

handleRequests<ListenersRequest, ListenersReply>(async message => {
  if (message.kind === 'connect') {
    const { port, requests, length } = message
    listeners = []
    for (let from = 0; from < requests.length; from += WAVE) {
      const wave = requests.slice(from, from + WAVE).map(outgoing => listen(port, outgoing, length))
      listeners.push(...(await Promise.all(wave)))
    }
  } else {
    await Promise.all(listeners.map(({ ended }) => ended))
  }
  const counts = new Map<string, number>()
  for (const { text } of listeners) counts.set(text(), (counts.get(text()) ?? 0) + 1)
  return { texts: [...counts] }
})

/** Resolves when `length` characters of the answer are received. */
async function listen(port: number, { path, body }: AnswerRequest, length: number): Promise<Listener> {
  const received = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<void>()
  let text = ''
  const parser = createParser({
    onEvent({ data }) {
      text += textOf(data)
      if (text.length >= length) received.resolve()
    },
  })
  const headers = { accept: 'text/event-stream', ...(body && { 'content-type': 'application/json' }) }
  // One connection per reader.
  const outgoing = request({ port, host: '127.0.0.1', path, method: body ? 'POST' : 'GET', headers, agent: false })
  outgoing.on('response', response => {
    if (response.statusCode !== 200) throw new Error(`expected status 200, found ${response.statusCode}`)
    response.setEncoding('utf8').on('data', (piece: string) => parser.feed(piece))
    response.on('end', ended.resolve)
  })
  outgoing.end(body)
  await received.promise
  return { text: () => text, ended: ended.promise }
}

interface ServedEvent {
  readonly type: string
  readonly delta?: string
  readonly entries?: readonly { readonly chunk: ServedEvent }[]
}

/** Text of an event: of a chunk, or of a frame of entries. */
function textOf(data: string): string {
  if (data === '[DONE]') return ''
  const { type, delta = '', entries = [] } = JSON.parse(data) as ServedEvent
  if (type === 'text-delta') return delta
  return entries.map(({ chunk }) => (chunk.type === 'text-delta' ? chunk.delta : '')).join('')
}

// Readers in a process of their own, who send a request each and read the answer to it as events.
import { request } from 'node:http'
import { createParser } from 'eventsource-parser'
import { handleRequests } from '../log/start-child.ts'

/** How many come at once: a server takes no more connections at a time. */
const WAVE = 100

/** A request whose reply is an answer. */
export interface AnswerRequest {
  readonly path: string
  /** JSON that is posted; without it, nothing is. */
  readonly body?: string
}

/** Send so many requests, and read until each has so many characters; or read on to the end. */
export type ListenersRequest =
  | { kind: 'connect'; port: number; requests: readonly AnswerRequest[]; length: number }
  | { kind: 'end' }

/** How many have read which text. */
export interface ListenersReply {
  readonly texts: [text: string, readers: number][]
}

interface Listener {
  readonly text: () => string
  readonly ended: Promise<void>
}

let listeners: Listener[] = []

handleRequests<ListenersRequest, ListenersReply>(async asked => {
  if (asked.kind === 'connect') {
    const { port, requests, length } = asked
    listeners = []
    for (let from = 0; from < requests.length; from += WAVE) {
      const wave = requests.slice(from, from + WAVE).map(asking => listen(port, asking, length))
      listeners.push(...(await Promise.all(wave)))
    }
  } else {
    await Promise.all(listeners.map(({ ended }) => ended))
  }
  const counts = new Map<string, number>()
  for (const { text } of listeners) counts.set(text(), (counts.get(text()) ?? 0) + 1)
  return { texts: [...counts] }
})

/** Resolves when so many characters of the answer are there. */
async function listen(port: number, { path, body }: AnswerRequest, length: number): Promise<Listener> {
  const come = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<void>()
  let text = ''
  const parser = createParser({
    onEvent({ data }) {
      text += saidBy(data)
      if (text.length >= length) come.resolve()
    },
  })
  const headers = { accept: 'text/event-stream', ...(body && { 'content-type': 'application/json' }) }
  // A connection each, that stays.
  const asking = request({ port, host: '127.0.0.1', path, method: body ? 'POST' : 'GET', headers, agent: false })
  asking.on('response', response => {
    if (response.statusCode !== 200) throw new Error(`the server answered ${response.statusCode}`)
    response.setEncoding('utf8').on('data', (piece: string) => parser.feed(piece))
    response.on('end', ended.resolve)
  })
  asking.end(body)
  await come.promise
  return { text: () => text, ended: ended.promise }
}

interface Said {
  readonly type: string
  readonly delta?: string
  readonly entries?: readonly { readonly chunk: Said }[]
}

/** The words of an event: a chunk, or a frame of entries that have one each. */
function saidBy(data: string): string {
  if (data === '[DONE]') return ''
  const { type, delta = '', entries = [] } = JSON.parse(data) as Said
  if (type === 'text-delta') return delta
  return entries.map(({ chunk }) => (chunk.type === 'text-delta' ? chunk.delta : '')).join('')
}

// A client written after the documentation of Helix Agents, because it has no package. It rejects undocumented fields.

import { EventReader, type WireEvent } from '@millrace/dialects'
import type { StreamChunk, StreamEvent } from '@millrace/dialects/helix'
import { StreamChunkSchema, StreamEventSchema } from '@millrace/dialects/helix/schemas'
import { expect } from 'vitest'

/** A validated event, and its `id:` if it had one. */
export interface ReceivedEvent {
  readonly id: string | undefined
  readonly event: StreamEvent
}

/** Parses and validates an event. @throws on an undocumented type or field. */
export function parseEvent(data: string): StreamEvent {
  const event = JSON.parse(data) as StreamEvent
  StreamEventSchema.parse(event)
  if (event.type === 'chunk') expect(StreamChunkSchema.parse(event.chunk)).toEqual(event.chunk)
  return event
}

/** Yields the events of a response as they arrive. */
export async function* readEvents(response: Response): AsyncGenerator<ReceivedEvent, void, undefined> {
  const reader = new EventReader('sse')
  let last: string | undefined
  for await (const bytes of response.body as ReadableStream<Uint8Array>) {
    for (const wire of reader.push(bytes) as WireEvent[]) {
      const id = wire.id === last ? undefined : wire.id
      last = wire.id
      yield { id, event: parseEvent(wire.data) }
    }
  }
}

/** All of the events of a response. */
export async function readAllEvents(response: Response): Promise<StreamEvent[]> {
  const received: StreamEvent[] = []
  for await (const { event } of readEvents(response)) received.push(event)
  return received
}

/** The documented chunks among some events, without custom ones. */
export const chunksIn = (received: readonly StreamEvent[]): StreamChunk[] =>
  received.flatMap(event =>
    event.type === 'chunk' && !(event.chunk.type === 'custom' && event.chunk.eventName === 'millrace')
      ? [event.chunk]
      : [],
  )

/** The chunks of a type. */
export const ofType = <T extends StreamChunk['type']>(received: readonly StreamEvent[], type: T) =>
  chunksIn(received).filter((chunk): chunk is Extract<StreamChunk, { type: T }> => chunk.type === type)

/** The text of a stream. */
export const textOf = (received: readonly StreamEvent[]): string =>
  ofType(received, 'text_delta')
    .map(({ delta }) => delta)
    .join('')

/** A session of an agent on a server. */
export class HelixClient {
  readonly #base: string
  readonly sessionId: string

  constructor(url: string, agent: string, sessionId = 's') {
    this.#base = `${url}/api/helix/${agent}`
    this.sessionId = sessionId
  }

  post(path: string, body: object = {}, accept = 'application/json'): Promise<Response> {
    const request = { sessionId: this.sessionId, ...body }
    const headers = { 'content-type': 'application/json', accept }
    return fetch(`${this.#base}/${path}`, { method: 'POST', headers, body: JSON.stringify(request) })
  }

  /** Sends a message and returns the response stream. */
  async sendMessage(message: string, more: object = {}): Promise<StreamEvent[]> {
    return readAllEvents(await this.post('start', { message, ...more }, 'text/event-stream'))
  }

  get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    return fetch(`${this.#base}/${path}?sessionId=${encodeURIComponent(this.sessionId)}`, { headers })
  }

  /** The stream of the session after a sequence. */
  follow(after?: number | string): Promise<Response> {
    return this.get('sse', after === undefined ? {} : { 'X-Resume-From-Sequence': `${after}` })
  }

  async snapshot() {
    return (await (await this.get('snapshot')).json()) as {
      messages: { id: string; role: string; parts: { type: string; text?: string; state?: string }[] }[]
      state: unknown
      output: unknown
      status: string
      streamSequence: number
    }
  }

  async submit(
    body: object,
  ): Promise<{ readonly status: number; readonly json: { status?: string; error?: { code: string } } }> {
    const response = await this.post('submit-tool-result', body)
    return { status: response.status, json: (await response.json()) as { status?: string } }
  }
}

// A Kortyx page, written after its documentation: events are separated by `\n\n`, each is `data: ` and JSON, `[DONE]` ends them. Structured
// chunks are reduced by `streamId`. A page clears them with each request, posts its full history without ids, and answers with a token in `metadata.resume`.

import type { StreamChunk } from '@millrace/dialects/kortyx'
import { StreamChunkSchema } from '@millrace/dialects/kortyx/schemas'
import type { Chunk } from '@millrace/protocol'
import { openBackend } from '../backend.fixture.ts'
import { type KortyxState, reduceLikeKortyx } from './kortyx-reducer.fixture.ts'

export type InterruptChunk = Extract<StreamChunk, { type: 'interrupt' }>

/** Pieces of a received message, in the order of their start. */
export type MessagePiece =
  | { readonly type: 'text'; readonly content: string }
  | { readonly type: 'structured'; readonly data: unknown }
  | { readonly type: 'interrupt'; readonly chunk: InterruptChunk }
  | { readonly type: 'error'; readonly content: string }

interface ChatMessage {
  readonly role: 'user' | 'assistant'
  readonly content: string
  readonly pieces?: readonly MessagePiece[]
}

/** The chunks of a body. */
async function* readStream(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamChunk> {
  const utf8 = new TextDecoder()
  let rest = ''
  for await (const bytes of body) {
    const frames = (rest + utf8.decode(bytes, { stream: true })).split('\n\n')
    rest = frames.pop() as string
    for (const frame of frames) {
      if (!frame.startsWith('data: ')) continue
      const data = frame.slice('data: '.length)
      if (data === '[DONE]') return
      yield StreamChunkSchema.parse(JSON.parse(data)) as StreamChunk
    }
  }
}

/** State of a page from the chunks of one request. */
export class ReceivedMessage {
  readonly #pieces = new Map<string, MessagePiece>()
  readonly #structured = new Map<string, KortyxState>()
  /** Received chunks, without ignored ones. */
  readonly types: string[] = []
  isDone = false

  get pieces(): readonly MessagePiece[] {
    return [...this.#pieces.values()]
  }

  get structured(): ReadonlyMap<string, KortyxState> {
    return this.#structured
  }

  get text(): string {
    return this.pieces.flatMap(piece => (piece.type === 'text' ? [piece.content] : [])).join('')
  }

  onChunk(chunk: StreamChunk): void {
    if (this.isDone) throw new Error(`${chunk.type} after done`)
    if (chunk.type !== 'tool-result') this.types.push(chunk.type)
    switch (chunk.type) {
      case 'text-start':
      case 'text-delta': {
        const key = `text:${chunk.opId ?? ''}:${chunk.segmentId ?? chunk.node ?? ''}`
        const piece = this.#pieces.get(key)
        const before = piece?.type === 'text' ? piece.content : ''
        this.#pieces.set(key, { type: 'text', content: before + ('delta' in chunk ? chunk.delta : '') })
        break
      }
      case 'structured-data': {
        const state = reduceLikeKortyx(this.#structured.get(chunk.streamId), chunk)
        this.#structured.set(chunk.streamId, state)
        this.#pieces.set(`structured:${chunk.streamId}`, { type: 'structured', data: state.data })
        break
      }
      case 'structured-data-invalidated':
        this.#structured.delete(chunk.streamId)
        break
      case 'interrupt':
        this.#pieces.set(`interrupt:${chunk.requestId}`, { type: 'interrupt', chunk })
        break
      case 'error':
        this.#pieces.set(`error:${this.#pieces.size}`, { type: 'error', content: chunk.message })
        break
      case 'done':
        this.isDone = true
        break
      default:
    }
  }
}

/** A page with one chat. */
export class Page {
  readonly #endpoint: string
  readonly #headers: Readonly<Record<string, string>>
  messages: ChatMessage[] = []
  sessionId: string
  /** Results of all requests. */
  readonly received: ReceivedMessage[] = []
  status = 0
  /** Body of an error response. */
  refusal: { readonly error?: string; readonly code?: string } | undefined

  constructor(endpoint: string, sessionId = 's', headers: Readonly<Record<string, string>> = {}) {
    this.#endpoint = endpoint
    this.#headers = headers
    this.sessionId = sessionId
  }

  get last(): ReceivedMessage {
    return this.received.at(-1) as ReceivedMessage
  }

  /** Interrupts of the last response. */
  get questions(): readonly InterruptChunk[] {
    return this.last.pieces.flatMap(piece => (piece.type === 'interrupt' ? [piece.chunk] : []))
  }

  /** Sends a message. */
  send(content: string, signal?: AbortSignal): Promise<void> {
    return this.#post({ role: 'user', content }, signal)
  }

  /** Answers an interrupt. */
  respond(
    { requestId, resumeToken: token }: Pick<InterruptChunk, 'requestId' | 'resumeToken'>,
    selected: readonly string[],
    more: object = {},
  ): Promise<void> {
    const metadata = { resume: { token, requestId, selected, ...more } }
    return this.#post({ role: 'user', content: selected.join(', ') || '(selection)', metadata })
  }

  async #post(last: ChatMessage & { readonly metadata?: object }, signal?: AbortSignal): Promise<void> {
    const history = this.messages.map(({ role, content }) => ({ role, content }))
    const body = { sessionId: this.sessionId, workflowId: '', messages: [...history, last], context: {} }
    this.messages.push({ role: 'user', content: last.content })
    const response = await fetch(this.#endpoint, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...this.#headers },
      body: JSON.stringify(body),
      ...(signal && { signal }),
    })
    const received = new ReceivedMessage()
    this.received.push(received)
    this.status = response.status
    this.refusal = response.ok ? undefined : ((await response.json()) as { error?: string })
    if (!response.ok) return
    for await (const chunk of readStream(response.body as ReadableStream<Uint8Array>)) {
      if (chunk.type === 'session') this.sessionId = chunk.sessionId
      received.onChunk(chunk)
    }
    this.messages.push({ role: 'assistant', content: received.text, pieces: received.pieces })
  }
}

/** A page with its own backend. */
export async function pageOf(program: string, options: Parameters<typeof openBackend>[0] = {}) {
  const backend = await openBackend(options)
  const page = new Page(`${backend.url}/api/kortyx/${program}`)
  return { backend, page }
}

/** The last received message: texts, and the types of other pieces. */
export const textsOf = (page: Page) =>
  page.last.pieces.map(piece => (piece.type === 'text' ? piece.content : piece.type))

/** State of a page from a response. */
export async function receivedIn(reply: Response): Promise<ReceivedMessage> {
  const received = new ReceivedMessage()
  for await (const chunk of readStream(reply.body as ReadableStream<Uint8Array>)) received.onChunk(chunk)
  return received
}

/** Posts a request like a page. */
export function post(url: string, body: object): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
}

/** All chunks of a complete body, including those that a page ignores. */
export const chunksIn = (body: string): StreamChunk[] =>
  (body.match(/^data: \{.*$/gm) ?? []).map(line => JSON.parse(line.slice('data: '.length)) as StreamChunk)

/** Chunks that are sent in addition to those of Kortyx. */
export const extraChunksIn = (chunks: readonly StreamChunk[]): Chunk[] =>
  chunks.flatMap(chunk => {
    const isOurs = chunk.type === 'tool-result' && chunk.tool === 'millrace'
    return isOurs ? [(chunk.content as { readonly chunk: Chunk }).chunk] : []
  })

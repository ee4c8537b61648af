// A server of the AI SDK as documented: `streamText` with a scripted model.

import { Readable } from 'node:stream'
import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { convertToModelMessages, stepCountIs, streamText, tool, UI_MESSAGE_STREAM_HEADERS, type UIMessage } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { z } from 'zod'
import { Gate } from '../backend.fixture.ts'
import { type Listening, listen } from './listen.fixture.ts'

const usage = {
  inputTokens: { total: 3, noCache: 3, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 5, text: 5, reasoning: undefined },
} as const

const textParts = (text: string): LanguageModelV4StreamPart[] => [
  { type: 'text-start', id: '0' },
  ...text.split(/(?<= )/).map(delta => ({ type: 'text-delta' as const, id: '0', delta })),
  { type: 'text-end', id: '0' },
]

const call = (toolName: string, input: object): LanguageModelV4StreamPart[] => {
  const text = JSON.stringify(input)
  return [
    { type: 'tool-input-start', id: 'call', toolName },
    { type: 'tool-input-delta', id: 'call', delta: text.slice(0, 4) },
    { type: 'tool-input-delta', id: 'call', delta: text.slice(4) },
    { type: 'tool-input-end', id: 'call' },
    { type: 'tool-call', toolCallId: 'call', toolName, input: text },
  ]
}

const tools = {
  weigh: tool({ inputSchema: z.object({ what: z.string() }), execute: ({ what }) => ({ what, kilos: 4 }) }),
  sell: tool({ inputSchema: z.object({ what: z.string() }), execute: ({ what }) => ({ sold: what }) }),
  locate: tool({ inputSchema: z.object({ precise: z.boolean() }), outputSchema: z.object({ city: z.string() }) }),
}

/** The stored part of an answer. */
interface StoredAnswer {
  readonly pieces: string[]
  isOver: boolean
  more: PromiseWithResolvers<void>
}

export class AiSdkServer {
  /** Where `hold` waits in the middle of its answer. */
  readonly gate = new Gate()
  /** Bodies of the requests. */
  readonly requests: { readonly trigger: string; readonly messages: UIMessage[]; readonly [name: string]: unknown }[] =
    []
  /** Number of model calls. */
  calls = 0
  /** Resolved when a client disconnects, and when it reconnects. */
  readonly disconnected = Promise.withResolvers<void>()
  readonly reconnected = Promise.withResolvers<void>()

  readonly #isResumable: boolean
  #stored: StoredAnswer | undefined

  constructor(isResumable: boolean) {
    this.#isResumable = isResumable
  }

  readonly #model = new MockLanguageModelV4({
    doStream: async ({ prompt, abortSignal }) => {
      this.calls++
      const at = prompt.findLastIndex(({ role }) => role === 'user')
      const last = prompt[at]
      const text = last?.role === 'user' ? last.content.flatMap(p => (p.type === 'text' ? [p.text] : [])).join('') : ''
      const isFirst = prompt.length - 1 === at
      const parts = isFirst
        ? this.#first(text)
        : textParts(`Then: ${JSON.stringify(prompt.at(-1)?.content).includes('denied') ? 'no' : 'yes'}.`)
      const isCall = parts.some(part => part !== 'gate' && part.type === 'tool-call')
      const { gate } = this
      abortSignal?.addEventListener('abort', () => this.disconnected.resolve())
      const stream = new ReadableStream<LanguageModelV4StreamPart>({
        async start(controller) {
          try {
            controller.enqueue({ type: 'stream-start', warnings: [] })
            for (const part of parts) {
              if (part === 'gate') await gate.pass(abortSignal)
              else controller.enqueue(part)
            }
            const unified = isCall ? 'tool-calls' : 'stop'
            controller.enqueue({ type: 'finish', finishReason: { unified, raw: unified }, usage })
            controller.close()
          } catch (error) {
            controller.error(error)
          }
        },
      })
      return { stream }
    },
  })

  #first(text: string): (LanguageModelV4StreamPart | 'gate')[] {
    const [verb] = text.split(' ')
    switch (verb) {
      case 'weigh':
        return [...textParts('I weigh. '), ...call('weigh', { what: 'rye' })]
      case 'sell':
        return call('sell', { what: 'flour' })
      case 'locate':
        return call('locate', { precise: true })
      case 'break':
        return [...textParts('It began well').slice(0, -1), { type: 'error', error: new Error('no more') }]
      case 'hold':
        return [...textParts('one two ').slice(0, -1), 'gate', ...textParts('three').slice(1)]
      default:
        return [
          { type: 'reasoning-start', id: '0' },
          { type: 'reasoning-delta', id: '0', delta: 'What did they say?' },
          { type: 'reasoning-end', id: '0' },
          ...textParts(`You said: ${text}`),
        ]
    }
  }

  async answer(request: Request): Promise<Response> {
    if (request.method === 'GET') return this.#resume()
    const body = (await request.json()) as AiSdkServer['requests'][number]
    this.requests.push(body)
    const { messages } = body
    const result = streamText({
      model: this.#model,
      messages: await convertToModelMessages(messages),
      tools,
      toolApproval: { sell: 'user-approval' },
      stopWhen: stepCountIs(3),
      onError: () => {},
      // A client that can resume is not treated as gone.
      ...(!this.#isResumable && { abortSignal: request.signal }),
    })
    return result.toUIMessageStreamResponse({
      originalMessages: messages,
      generateMessageId: () => `message-${this.requests.length}`,
      onError: error => (error as Error).message,
      ...(this.#isResumable && { consumeSseStream: ({ stream }) => this.#store(stream) }),
    })
  }

  async #store(stream: ReadableStream<string>): Promise<void> {
    this.#stored = { pieces: [], isOver: false, more: Promise.withResolvers() }
    for await (const piece of stream) {
      this.#stored.pieces.push(piece)
      this.#stored.more.resolve()
      this.#stored.more = Promise.withResolvers()
    }
    this.#stored.isOver = true
    this.#stored.more.resolve()
  }

  /** The streaming answer from its beginning. */
  #resume(): Response {
    const stored = this.#stored
    this.reconnected.resolve()
    if (!stored || stored.isOver) return new Response(null, { status: 204 })
    async function* read(all: StoredAnswer): AsyncGenerator<Uint8Array> {
      const { pieces } = all
      for (let i = 0; ; i++) {
        while (i === pieces.length && !all.isOver) await all.more.promise
        if (i === pieces.length) return
        yield new TextEncoder().encode(pieces[i])
      }
    }
    return new Response(Readable.toWeb(Readable.from(read(stored))) as ReadableStream, {
      headers: UI_MESSAGE_STREAM_HEADERS,
    })
  }
}

/** Starts a server until the end of the test. With `isResumable` it stores a streaming answer until its end. */
export async function openAiSdk(isResumable = false): Promise<Listening & { readonly server: AiSdkServer }> {
  const server = new AiSdkServer(isResumable)
  return { server, ...(await listen(request => server.answer(request))) }
}

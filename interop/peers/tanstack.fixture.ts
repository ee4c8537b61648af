// A server of TanStack AI as documented: `chat()` with a scripted adapter.

import {
  type AdapterYieldChunk,
  type AnyTextAdapter,
  chat,
  chatParamsFromRequest,
  EventType,
  memoryStream,
  toolDefinition,
  toServerSentEventsResponse,
} from '@tanstack/ai'
import { z } from 'zod'
import { Gate } from '../backend.fixture.ts'
import { type Listening, listen } from './listen.fixture.ts'

/** An event of an adapter, without the common fields. */
interface AdapterEvent {
  readonly type: EventType
  readonly [field: string]: unknown
}

/** The scripted model as an adapter of `chat()`. */
const adapterOf = (server: TanstackServer): AnyTextAdapter => ({
  kind: 'text',
  name: 'scripted',
  model: 'scripted',
  '~types': undefined as never,
  async *chatStream({ messages, abortController }) {
    const { role, content } = messages.at(-1) ?? { role: 'user', content: '' }
    const isDenied = role === 'tool' && /declin|denied|reject|approved":false/i.test(String(content))
    const text = role === 'user' ? textOf(content) : undefined
    for await (const event of server.events(text, isDenied, abortController?.signal)) {
      yield { timestamp: Date.now(), model: 'scripted', ...event } as unknown as AdapterYieldChunk
    }
  },
  structuredOutput: () => Promise.reject(new Error('structuredOutput is not supported: use chatStream')),
})

const textOf = (content: unknown): string =>
  typeof content === 'string'
    ? content
    : Array.isArray(content)
      ? content.map(({ content = '', text = content }) => text).join('')
      : ''

const tools = [
  toolDefinition({ name: 'weigh', description: 'Weighs.', inputSchema: z.object({ what: z.string() }) }).server(
    ({ what }) => ({ what, kilos: 4 }),
  ),
  toolDefinition({
    name: 'sell',
    description: 'Sells.',
    inputSchema: z.object({ what: z.string() }),
    needsApproval: true,
  }).server(({ what }) => ({ sold: what })),
  toolDefinition({
    name: 'locate',
    description: 'Where the person is.',
    inputSchema: z.object({ precise: z.boolean() }),
    outputSchema: z.object({ city: z.string() }),
  }),
]

export class TanstackServer {
  readonly gate = new Gate()
  readonly requests: Awaited<ReturnType<typeof chatParamsFromRequest>>[] = []
  readonly disconnected = Promise.withResolvers<void>()
  readonly reconnected = Promise.withResolvers<void>()
  calls = 0
  readonly #isDurable: boolean
  #ids = 0

  constructor(isDurable: boolean) {
    this.#isDurable = isDurable
  }

  #text(text: string): AdapterEvent[] {
    const messageId = `text-${++this.#ids}`
    return [
      { type: EventType.TEXT_MESSAGE_START, messageId, role: 'assistant' },
      ...text.split(/(?<= )/).map(delta => ({ type: EventType.TEXT_MESSAGE_CONTENT, messageId, delta })),
      { type: EventType.TEXT_MESSAGE_END, messageId },
    ]
  }

  #call(toolCallName: string, input: object): AdapterEvent[] {
    // Each call has a unique id, because TanStack AI matches results by id over all messages.
    const toolCallId = `call-${++this.#ids}`
    const text = JSON.stringify(input)
    return [
      { type: EventType.TOOL_CALL_START, toolCallId, toolCallName, toolName: toolCallName },
      { type: EventType.TOOL_CALL_ARGS, toolCallId, delta: text.slice(0, 4) },
      { type: EventType.TOOL_CALL_ARGS, toolCallId, delta: text.slice(4) },
      { type: EventType.TOOL_CALL_END, toolCallId, toolName: toolCallName, input },
    ]
  }

  /** Events of the model for a text or for tool results. */
  async *events(text: string | undefined, isDenied: boolean, signal?: AbortSignal): AsyncIterable<AdapterEvent> {
    this.calls++
    const runId = `model-${++this.#ids}`
    yield { type: EventType.RUN_STARTED, runId, threadId: '' }
    const finished = { type: EventType.RUN_FINISHED, runId, threadId: '' } as const
    const verb = text?.split(' ')[0]
    const called =
      verb === 'weigh'
        ? [...this.#text('I weigh. '), ...this.#call('weigh', { what: 'rye' })]
        : verb === 'sell'
          ? this.#call('sell', { what: 'flour' })
          : verb === 'locate'
            ? this.#call('locate', { precise: true })
            : verb === 'all'
              ? [
                  ...this.#call('sell', { what: 'flour' }),
                  ...this.#call('locate', { precise: true }),
                  ...this.#call('weigh', { what: 'rye' }),
                ]
              : undefined
    if (called) {
      yield* called
      yield { ...finished, finishReason: 'tool_calls' }
      return
    }
    if (text === undefined) yield* this.#text(`Then: ${isDenied ? 'no' : 'yes'}.`)
    else if (verb === 'break') {
      yield* this.#text('It began well').slice(0, -1)
      throw new Error('no more')
    } else if (verb === 'hold') {
      const events = this.#text('one two three')
      yield* events.slice(0, 3)
      await this.gate.pass(signal)
      yield* events.slice(3)
    } else {
      const messageId = `thought-${++this.#ids}`
      yield { type: EventType.REASONING_START, messageId }
      yield { type: EventType.REASONING_MESSAGE_START, messageId, role: 'reasoning' }
      yield { type: EventType.REASONING_MESSAGE_CONTENT, messageId, delta: 'What did they say?' }
      yield { type: EventType.REASONING_MESSAGE_END, messageId }
      yield { type: EventType.REASONING_END, messageId }
      yield* this.#text(`You said: ${text}`)
    }
    yield { ...finished, finishReason: 'stop' }
  }

  async answer(request: Request): Promise<Response> {
    if (request.headers.has('last-event-id')) this.reconnected.resolve()
    const durability = this.#isDurable ? { adapter: memoryStream(request), batch: 1 } : undefined
    const params = await chatParamsFromRequest(request)
    this.requests.push(params)
    const abortController = new AbortController()
    request.signal.addEventListener('abort', () => {
      this.disconnected.resolve()
      if (!durability) abortController.abort()
    })
    const { messages, threadId, runId, parentRunId, resume } = params
    const stream = chat({
      adapter: adapterOf(this),
      messages: messages as never,
      tools,
      threadId,
      runId,
      debug: false,
      abortController,
      ...(parentRunId !== undefined && { parentRunId }),
      ...(resume && { resume }),
    })
    return toServerSentEventsResponse(stream, { ...(durability && { durability }) })
  }
}

export async function openTanstack(isDurable = false): Promise<Listening & { readonly server: TanstackServer }> {
  const server = new TanstackServer(isDurable)
  return { server, ...(await listen(request => server.answer(request))) }
}

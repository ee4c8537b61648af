import { AdapterChat, type AdapterChatOptions } from './adapter-chat.ts'
import { toChatMessage } from './chat-message.ts'
import type {
  ChatAdapter,
  ChatMessage,
  ChatMessageChunk,
  ChatSendMessageInput,
  ChatStream,
  ChatStreamEnvelope,
} from './types.ts'

export type Value = ChatMessageChunk | ChatStreamEnvelope

/** A stream that a test feeds. */
export function controlled(): {
  readonly stream: ChatStream
  push(...values: unknown[]): void
  close(): void
  fail(error: unknown): void
  readonly cancelled: Promise<unknown>
} {
  let controller!: ReadableStreamDefaultController<Value>
  const { promise: cancelled, resolve } = Promise.withResolvers<unknown>()
  const stream = new ReadableStream<Value>({
    start(streamController) {
      controller = streamController
    },
    cancel: reason => resolve(reason),
  })
  return {
    stream,
    push: (...values) => {
      for (const value of values) controller.enqueue(value as Value)
    },
    close: () => controller.close(),
    fail: error => controller.error(error),
    cancelled,
  }
}

/** A stream of these values that then closes, or fails with the error. */
export function streamOf(values: readonly unknown[], error?: unknown): ChatStream {
  let at = 0
  return new ReadableStream<Value>({
    pull(controller) {
      if (at < values.length) controller.enqueue(values[at++] as Value)
      else if (error === undefined) controller.close()
      else controller.error(error)
    },
  })
}

/** The callbacks of a chat, in order. */
interface RecordedCallbacks {
  readonly log: string[]
  readonly calls: { data: unknown[]; tools: string[]; finishes: unknown[]; errors: unknown[] }
}

/** A chat over an adapter, with its recorded callbacks. */
export function chatOver(adapter: ChatAdapter, options: Partial<AdapterChatOptions> = {}) {
  const log: string[] = []
  const calls: RecordedCallbacks['calls'] = { data: [], tools: [], finishes: [], errors: [] }
  const waiting: (() => void)[] = []
  const chat = new AdapterChat({
    adapter,
    streamFlushInterval: 0,
    backoff: { firstMs: 1, longestMs: 2 },
    onData: data => {
      log.push(`data ${data.type}`)
      calls.data.push(data)
    },
    onToolCall: ({ toolCall }) => {
      log.push(`tool ${toolCall.state}`)
      calls.tools.push(toolCall.state)
    },
    onFinish: finish => {
      log.push(
        `finish${finish.isAbort ? ' abort' : ''}${finish.isDisconnect ? ' disconnect' : ''}${finish.isError ? ' error' : ''}`,
      )
      calls.finishes.push(finish)
      for (const wake of waiting.splice(0)) wake()
    },
    onError: error => {
      log.push(
        `error ${error.code}${(error.details as { recovered?: true } | undefined)?.recovered ? ' recovered' : ''}`,
      )
      calls.errors.push(error)
    },
    ...options,
  })
  /** Resolves at the next end of a turn. */
  const finished = () => new Promise<void>(resolve => waiting.push(resolve))
  const messages = (): ChatMessage[] => {
    chat.store.flush()
    return chat.store.messages.map(toChatMessage)
  }
  /** Resolves when the condition holds. */
  const until = (condition: () => boolean) =>
    new Promise<void>(resolve => {
      const unsubscribers: (() => void)[] = []
      const check = () => {
        if (!condition()) return
        for (const unsubscribe of unsubscribers) unsubscribe()
        resolve()
      }
      unsubscribers.push(chat.subscribe(check), chat.store.subscribe(['any'], check))
      check()
    })
  /** Sends, and waits for the end of the turn. */
  const turn = async (text = 'hi', messageId = 'u1') => {
    const end = finished()
    const sent = await chat.sendMessage(text, { messageId })
    if (!sent.error) await end
    return sent
  }
  const textOf = (id: string) =>
    messages()
      .find(message => message.id === id)
      ?.parts.flatMap(part => ('text' in part && part.type === 'text' ? [part.text] : []))
  return { chat, log, calls, finished, until, turn, messages, textOf }
}

/** A chat with an adapter of one stream. */
export const chatOf = (values: readonly unknown[], options?: Partial<AdapterChatOptions>) =>
  chatOver({ sendMessage: async () => streamOf(values) }, options)

/** The chunks of a short reply. */
export const hello: readonly ChatMessageChunk[] = [
  { type: 'start', messageId: 'a1' },
  { type: 'text-start', id: 't1' },
  { type: 'text-delta', id: 't1', delta: 'Hello' },
  { type: 'text-delta', id: 't1', delta: ' world' },
  { type: 'text-end', id: 't1' },
  { type: 'finish', messageId: 'a1', finishReason: 'stop' },
]

/** A reply of one text. */
export const replyOf = (id: string, text: string) =>
  streamOf([
    { type: 'start', messageId: id },
    { type: 'text-delta', id: 't', delta: text },
    { type: 'finish', messageId: id },
  ])

/** An adapter that answers each message with one message. Records its requests. */
export function counting(more: Partial<ChatAdapter> = {}, options?: Partial<AdapterChatOptions>) {
  const requests: ChatSendMessageInput[] = []
  const adapter: ChatAdapter = {
    async sendMessage(input) {
      requests.push(input)
      return replyOf(`a${requests.length}`, `reply ${requests.length}`)
    },
    ...more,
  }
  return { ...chatOver(adapter, options), requests }
}

/** The ids of messages, in one line. */
export const ids = (messages: readonly ChatMessage[]) => messages.map(({ id }) => id).join(' ')

import { Chat } from '@ai-sdk/react'
import type { UIMessageChunk } from '@millrace/dialects/ai-sdk'
import { type UIMessageChunk as Chunk, DefaultChatTransport, type UIMessage, uiMessageChunkSchema } from 'ai'
import { expect } from 'vitest'
import type { Backend } from '../backend.fixture.ts'

type ChatOptions = ConstructorParameters<typeof Chat<UIMessage>>[0]

/** A chat of the AI SDK with an agent of a backend. */
export function chatWith(backend: Backend, agent: string, options: ChatOptions = {}): Chat<UIMessage> {
  const transport = new DefaultChatTransport({ api: `${backend.url}/api/ai-sdk/${agent}` })
  return new Chat<UIMessage>({ id: 's', transport, ...options })
}

/** The texts of a message. */
export const textOf = (message: UIMessage | undefined): string =>
  message?.parts.flatMap(part => (part.type === 'text' ? [part.text] : [])).join('|') ?? ''

type AnyPart = UIMessage['parts'][number] & {
  readonly [field in 'state' | 'toolCallId' | 'input' | 'output' | 'errorText' | 'data' | 'id' | 'approval']?: unknown
}

/** The parts of a type, as a page sees them. */
export const partsOf = (message: UIMessage | undefined, type: string): AnyPart[] =>
  (message?.parts ?? []).filter(part => part.type === type) as AnyPart[]

/** Id of the pending approval. */
export const approvalIn = (message: UIMessage | undefined, type: string): string => {
  const { id } = (partsOf(message, type)[0]?.approval ?? {}) as { id?: string }
  return id ?? ''
}

const { validate } = uiMessageChunkSchema()

/** The stream of a response. Every chunk is validated with the schema of the real client. */
async function streamOf(events: readonly UIMessageChunk[]): Promise<ReadableStream<Chunk>> {
  const chunks: Chunk[] = JSON.parse(JSON.stringify(events))
  for (const chunk of chunks) expect(await validate?.(chunk)).toMatchObject({ success: true })
  return new ReadableStream({
    start: controller => {
      for (const chunk of chunks) controller.enqueue(chunk)
      controller.close()
    },
  })
}

/** A chat with given responses, one per request. */
export async function chatOf(
  connections: readonly (readonly UIMessageChunk[])[],
  isReplay = false,
): Promise<Chat<UIMessage>> {
  const left = [...connections]
  const next = () => streamOf(left.shift() ?? [])
  const transport = { sendMessages: next, reconnectToStream: next, resumeStreamIsReplay: true }
  const chat = new Chat<UIMessage>({ transport, messages: [] })
  if (isReplay) await chat.resumeStream()
  else await chat.sendMessage({ text: 'Well?' })
  while (left.length > 0) await chat.sendMessage()
  return chat
}

/** Content of a message that does not depend on the stream: without step marks, which a discard can reduce, and without undefined fields. */
export function contentOf(message: UIMessage | undefined) {
  const { id, metadata, parts = [] } = JSON.parse(JSON.stringify(message ?? {})) as Partial<UIMessage>
  const content = (parts as Record<string, unknown>[]).filter(({ type }) => type !== 'step-start').map(partOf)
  // A structured object is shown when it is complete. The view has it where it started.
  const isStructured = ({ type }: { type?: unknown }) => type === 'data-millrace'
  const structured = Object.fromEntries(content.filter(isStructured).map(part => [part['id'], part['data']]))
  return { id, metadata: metadata ?? {}, content: content.filter(part => !isStructured(part)), structured }
}

/** A part without fields that only the stream or only the view has: ids of reasoning, text of an input, file names. */
function partOf({
  millrace,
  id,
  rawInput,
  filename,
  approval,
  data,
  ...part
}: Record<string, unknown>): Record<string, unknown> {
  const { chunk } = (data ?? {}) as { chunk?: { type: string } }
  const { reason, approved } = (approval ?? {}) as { reason?: string; approved?: boolean }
  return {
    ...part,
    ...(part['type'] !== 'reasoning' && id !== undefined && { id }),
    ...(part['state'] !== 'output-error' && approved !== undefined && { approved, reason }),
    ...(data !== undefined && { data: part['type'] === 'data-millrace' ? chunk : data }),
  }
}

import type { Message, MessageChunk, RunRequest } from '@millrace/protocol'

/** Content of a message that is being sent. */
export type LocalMessage = Pick<MessageChunk, 'messageId' | 'role' | 'parts' | 'metadata'>

/** Returns an optimistic message in the shape that the fold gives it later. */
export function toSendingMessage({ messageId: id, role, parts, metadata }: LocalMessage, createdAt: number): Message {
  return {
    id,
    role,
    status: 'sending',
    at: Number.MAX_SAFE_INTEGER,
    createdAt,
    parts: parts.map((part, i) => {
      const key = `#${i}`
      const isText = part.type === 'text' || part.type === 'reasoning'
      return { ...part, key, at: 0, ...(isText && { id: key, state: 'done' }) } as Message['parts'][number]
    }),
    ...(metadata && { metadata }),
  }
}

/** Messages of queued run requests. `createdAt` is a guess until the log holds the message. */
export const queuedMessages = (requests: readonly RunRequest[], createdAt = Date.now()): Message[] =>
  requests.flatMap(({ message }) => (message ? [toSendingMessage(message, createdAt)] : []))

/** Optimistic messages, and patches for messages of the log. */
export class LocalMessages extends Map<string, Message> {
  readonly #patches = new Map<string, Partial<Message>>()

  patch(id: string, patch: Partial<Message>): void {
    this.#patches.set(id, { ...this.#patches.get(id), ...patch })
  }

  /** Applies the patch of a message. */
  patched(id: string, message: Message | undefined): Message | undefined {
    const patch = this.#patches.get(id)
    return message && patch ? { ...message, ...patch } : message
  }
}

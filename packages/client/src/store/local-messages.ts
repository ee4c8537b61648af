import type { Message, MessageChunk, RunRequest } from '@millrace/protocol'

/** What a message says of itself before the log does: a person's words, on their way. */
export type LocalMessage = Pick<MessageChunk, 'messageId' | 'role' | 'parts' | 'metadata'>

/** A message that the log does not hold yet, as the fold will show it. */
export function sendingOf({ messageId: id, role, parts, metadata }: LocalMessage, createdAt: number): Message {
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

/** The messages of requests that nobody has begun with; when they were made the log will say, once they are in it. */
export const waitingOf = (requests: readonly RunRequest[], createdAt = Date.now()): Message[] =>
  requests.flatMap(({ message }) => (message ? [sendingOf(message, createdAt)] : []))

/** Messages that are shown though the log does not hold them, and what is shown of others in place of what it says. */
export class LocalMessages extends Map<string, Message> {
  readonly #patches = new Map<string, Partial<Message>>()

  patch(id: string, patch: Partial<Message>): void {
    this.#patches.set(id, { ...this.#patches.get(id), ...patch })
  }

  /** A message as it is to be shown. */
  shown(id: string, message: Message | undefined): Message | undefined {
    const patch = this.#patches.get(id)
    return message && patch ? { ...message, ...patch } : message
  }
}

// Records what a tab shows and reports for one session.

import type { Message } from '@millrace/protocol'
import type { ChatCallbacks, ChatFinish } from '../../chat/callbacks.ts'
import type { Store } from '../../store/store.ts'
import type { ChatData } from '../../types/index.ts'

/** A text that changed other than by growing at its end. */
export interface TextRegression {
  readonly messageId: string
  readonly key: string
  readonly old: string
  readonly text: string
  /** The head of the store when the old text was shown, and when the new one was. */
  readonly from: number
  readonly to: number
}

/** A message that was shown as sent, with the head of the store at that time. */
export interface SentMessage {
  readonly messageId: string
  readonly runId: string
  readonly at: number
}

export class TabRecorder implements ChatCallbacks {
  readonly textRegressions: TextRegression[] = []
  readonly sent: SentMessage[] = []
  readonly finishes: ChatFinish[] = []
  readonly calls = new Map<string, number>()
  readonly data = new Map<string, number>()
  readonly errors: string[] = []
  /** The head of the store when its first entries were shown. */
  firstHead: number | undefined
  readonly #store: () => Store
  readonly #onChange: () => void
  readonly #sentIds = new Set<string>()
  #texts = new Map<string, { readonly message: Message; readonly text: string; readonly key: string }>()
  #lastMessages = new Map<string, Message>()
  #head = 0

  constructor(store: () => Store, onChange: () => void) {
    this.#store = store
    this.#onChange = onChange
  }

  /** Compares the shown messages with the previous ones. */
  readonly check = (): void => {
    const { head, messages } = this.#store()
    if (head > 0) this.firstHead ??= head
    const texts = new Map<string, { message: Message; text: string; key: string }>()
    for (const message of messages) {
      // An unchanged message object has unchanged texts.
      const isSame = this.#lastMessages.get(message.id) === message
      for (const part of message.parts) {
        if (part.type !== 'text' && part.type !== 'reasoning') continue
        const name = `${message.id} ${part.key}`
        const old = this.#texts.get(name)
        texts.set(name, isSame && old ? old : { message, text: part.text, key: part.key })
        if (isSame || old === undefined || part.text.startsWith(old.text)) continue
        this.#addRegression(message.id, part.key, old.text, part.text, head)
      }
      if (message.status === 'sent' && message.runId !== undefined && !this.#sentIds.has(message.id)) {
        this.#sentIds.add(message.id)
        this.sent.push({ messageId: message.id, runId: message.runId, at: head })
      }
      if (message.status !== 'sent') this.#sentIds.delete(message.id)
    }
    for (const [name, { message, key, text }] of this.#texts) {
      if (!texts.has(name)) this.#addRegression(message.id, key, text, '', head)
    }
    this.#texts = texts
    this.#lastMessages = new Map(messages.map(message => [message.id, message]))
    this.#head = head
    this.#onChange()
  }

  #addRegression(messageId: string, key: string, old: string, text: string, to: number): void {
    this.textRegressions.push({ messageId, key, old, text, from: this.#head, to })
  }

  readonly onFinish = (finish: ChatFinish): void => {
    this.finishes.push(finish)
  }

  readonly onToolCall: NonNullable<ChatCallbacks['onToolCall']> = ({ toolCall, messageId }) => {
    const name = `${messageId} ${toolCall.toolCallId} ${toolCall.state}`
    this.calls.set(name, (this.calls.get(name) ?? 0) + 1)
  }

  readonly onData = ({ type, data }: ChatData): void => {
    const name = `${type} ${JSON.stringify(data)}`
    this.data.set(name, (this.data.get(name) ?? 0) + 1)
  }

  readonly onError: NonNullable<ChatCallbacks['onError']> = ({ code, source }) => {
    this.errors.push(`${source}: ${code}`)
  }
}

// A page of MUI X Chat: its provider with the adapter of Millrace.

import { createMuiAdapter, type MuiAdapter, type MuiAdapterOptions } from '@millrace/dialects/mui'
import {
  type ChatAdapter,
  type ChatMessage,
  type ChatOnFinish,
  type ChatOnToolCall,
  ChatProvider,
  useChat,
  useChatStore,
} from '@mui/x-chat-headless'
import type { ReactNode } from 'react'
import { expect } from 'vitest'
import { mount } from '../mount.fixture.tsx'

type Chat = ReturnType<typeof useChat>

export interface PageOptions extends Partial<MuiAdapterOptions> {
  readonly url: string
  readonly conversation?: string
  readonly isStrict?: boolean
}

export class Page {
  readonly adapter: MuiAdapter
  readonly data: unknown[] = []
  readonly finished: Parameters<ChatOnFinish>[0][] = []
  readonly errors: { readonly message: string; readonly code: string }[] = []
  /** Every text that the last message showed, without repeats. */
  readonly texts: string[] = []
  readonly toolStates: string[] = []
  readonly #unmount: () => void
  #chat: Chat | undefined
  #state: (() => readonly ChatMessage[]) | undefined

  constructor({ conversation, isStrict = false, ...options }: PageOptions) {
    this.adapter = createMuiAdapter({ backoff: { firstMs: 5, longestMs: 50 }, ...options })
    const adapter: ChatAdapter = this.adapter
    const props = conversation === undefined ? {} : { initialActiveConversationId: conversation }
    const onToolCall: ChatOnToolCall = ({ toolCall }) => void this.toolStates.push(toolCall.state)
    const { unmount } = mount(
      <ChatProvider
        adapter={adapter}
        {...props}
        onData={part => void this.data.push(part)}
        onFinish={payload => void this.finished.push(payload)}
        onError={error => void this.errors.push(error)}
        onToolCall={onToolCall}
      >
        <Shown on={this} />
      </ChatProvider>,
      { isStrict },
    )
    this.#unmount = unmount
  }

  see(chat: Chat, state: () => readonly ChatMessage[]): void {
    this.#chat = chat
    this.#state = state
    const text = this.text
    if (this.texts.at(-1) !== text) this.texts.push(text)
  }

  get chat(): Chat {
    if (!this.#chat) throw new Error('the page has not rendered')
    return this.#chat
  }

  get messages(): readonly ChatMessage[] {
    return this.#state?.() ?? []
  }

  get last(): ChatMessage | undefined {
    return this.messages.at(-1)
  }

  /** The texts of the last message. */
  get text(): string {
    return (this.last?.parts ?? []).flatMap(part => (part.type === 'text' ? [part.text] : [])).join('|')
  }

  async sendMessage(text: string): Promise<void> {
    await this.chat.sendMessage({ parts: [{ type: 'text', text }] })
  }

  /** The call of a tool, as the last message shows it. */
  call(name: string) {
    for (const part of this.last?.parts ?? [])
      if ((part.type === 'tool' || part.type === 'dynamic-tool') && part.toolInvocation.toolName === name)
        return part.toolInvocation
    return undefined
  }

  async callIn(name: string, state: string) {
    await expect.poll(() => this.call(name)?.state).toBe(state)
    return this.call(name) as NonNullable<ReturnType<Page['call']>>
  }

  leave(): void {
    this.#unmount()
  }
}

function Shown({ on }: { readonly on: Page }): ReactNode {
  const chat = useChat()
  const store = useChatStore()
  on.see(chat, () => {
    const { messageIds, messagesById } = store.state
    return messageIds.flatMap(id => messagesById[id] ?? [])
  })
  return null
}

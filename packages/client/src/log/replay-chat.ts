import { newId } from '@millrace/dialects'
import type { View } from '@millrace/protocol'
import type { ChatCallbacks } from '../chat/callbacks.ts'
import type { Chat, ChatState, SendResult } from '../chat/chat.ts'
import { ObservableState } from '../chat/observable-state.ts'
import { chatErrorOf, RequestError } from '../error/chat-error.ts'
import { Store } from '../store/store.ts'
import type { ClientTools } from '../types/index.ts'

const READ_ONLY = { code: 'read_only', message: 'Expected a live chat, found a recording: recordings are read-only.' }

/** A read-only chat that shows a recorded view. All actions fail with the code `read_only`. */
export class ReplayChat implements Chat {
  readonly store: Store
  callbacks: ChatCallbacks = {}
  tools: ClientTools = {}
  readonly #state: ObservableState

  constructor({ sessionId, view }: { readonly sessionId?: string; readonly view?: View } = {}) {
    this.store = new Store({ view })
    this.#state = new ObservableState({ sessionId, connection: { status: 'idle', reason: 'a recording' } })
  }

  get state(): ChatState {
    return this.#state.value
  }

  /** Replaces the view. Equal values keep their identity. */
  show(view: View): void {
    this.store.restore(view)
    this.store.flush()
  }

  subscribe(listener: () => void): () => void {
    return this.#state.subscribe(listener)
  }

  start(): () => void {
    return () => {}
  }

  sendMessage = (): Promise<SendResult> => this.#refuse()
  regenerate = (): Promise<SendResult> => this.#refuse()
  retry = (): Promise<SendResult> => this.#refuse()
  edit = (): Promise<SendResult> => this.#refuse()

  async stop(): Promise<void> {
    await this.#refuse()
  }

  async answer(): Promise<void> {
    await this.#refuse()
    throw new RequestError(READ_ONLY)
  }

  async loadOlder(): Promise<void> {}

  clearError(): void {
    this.#state.set({ error: undefined })
  }

  async #refuse(): Promise<SendResult> {
    const error = chatErrorOf(READ_ONLY, 'send')
    this.#state.set({ error })
    return { messageId: newId(), error }
  }
}

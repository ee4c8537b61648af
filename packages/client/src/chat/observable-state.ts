import { Listeners } from '../notify/listeners.ts'
import type { ChatState } from './chat.ts'

const STATE = 'state'

const IDLE: ChatState = {
  sessionId: undefined,
  status: 'ready',
  runId: undefined,
  error: undefined,
  connection: { status: 'idle', reason: 'nobody follows' },
  isLoading: false,
  title: undefined,
  hasOlder: false,
  isLoadingOlder: false,
}

/** The state of a chat, and who wants to know of it. */
export class ObservableState {
  readonly #listeners = new Listeners()
  #state: ChatState

  constructor(state: Partial<ChatState>) {
    this.#state = { ...IDLE, ...state }
  }

  get value(): ChatState {
    return this.#state
  }

  /** Sets fields; who listens is told only where one is another. */
  set(fields: Partial<ChatState>): void {
    const names = Object.keys(fields) as (keyof ChatState)[]
    if (names.every(name => Object.is(fields[name], this.#state[name]))) return
    this.#state = { ...this.#state, ...fields }
    this.#listeners.notify(STATE)
  }

  subscribe(listener: () => void): () => void {
    return this.#listeners.add(STATE, undefined, listener)
  }
}

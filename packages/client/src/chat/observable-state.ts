import { Listeners } from '../notify/listeners.ts'
import type { ChatState } from './chat.ts'

const STATE = 'state'

const IDLE: ChatState = {
  sessionId: undefined,
  status: 'ready',
  runId: undefined,
  error: undefined,
  connection: { status: 'idle', reason: 'no subscribers' },
  isLoading: false,
  title: undefined,
  hasOlder: false,
  isLoadingOlder: false,
}

/** State of a chat with its subscribers. */
export class ObservableState {
  readonly #listeners = new Listeners()
  #state: ChatState

  constructor(state: Partial<ChatState>) {
    this.#state = { ...IDLE, ...state }
  }

  get value(): ChatState {
    return this.#state
  }

  /** Sets fields. Notifies subscribers only if one of them changed. */
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

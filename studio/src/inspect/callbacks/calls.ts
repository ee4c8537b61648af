import type { Chat, ChatCallbacks } from '@millrace/client'
import { useSyncExternalStore } from 'react'
import { connection } from '../../app/connection.ts'

/** A callback of the chat of this page, or a new status of it or its connection. */
export interface Call {
  readonly id: number
  readonly kind: 'callback' | 'chat' | 'connection'
  /** Name of the callback, or the status. */
  readonly name: string
  /** Time in ms, as `performance.now()`. */
  readonly time: number
  readonly value: unknown
}

/** The part of the page's chat that is observed. */
export type PageChat = Pick<Chat, 'state' | 'store' | 'subscribe' | 'stop'>

/** The calls so far, as an immutable snapshot. */
export interface Calls {
  /** The latest calls, oldest first. */
  readonly calls: readonly Call[]
  /** The chat of this page, if it has one. */
  readonly chat?: PageChat | undefined
  /** Number of older calls that were dropped. */
  readonly dropped: number
}

/** Maximum number of calls in the list. */
const MAX_CALLS = 500

const NO_CALLS: Calls = { calls: [], dropped: 0 }
let state = NO_CALLS
let id = 0
const listeners = new Set<() => void>()

function set(next: Calls): void {
  state = next
  for (const listener of listeners) listener()
}

/** The calls of this page so far. */
export const callsSoFar = (): Calls => state

export function subscribeToCalls(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Clears the list. */
export const clearCalls = (): void => set({ ...state, calls: [], dropped: 0 })

function record(kind: Call['kind'], name: string, value: unknown): void {
  const calls = [...state.calls, { id: ++id, kind, name, time: performance.now(), value }]
  const surplus = Math.max(0, calls.length - MAX_CALLS)
  set({ ...state, calls: calls.slice(surplus), dropped: state.dropped + surplus })
}

/** Callbacks that record each call. */
export const recordingCallbacks = (): ChatCallbacks => ({
  onData: value => record('callback', 'onData', value),
  onToolCall: value => record('callback', 'onToolCall', value),
  onFinish: value => record('callback', 'onFinish', value),
  onError: value => record('callback', 'onError', value),
})

/** Records status changes of a chat and its connection until the returned function is called. Clears earlier calls. */
export function recordChat(chat: PageChat): () => void {
  set({ ...NO_CALLS, chat })
  let status: string | undefined
  const recordChatStatus = () => {
    const { state } = chat
    if (state.status === status) return
    status = state.status
    record('chat', status, { runId: state.runId, error: state.error })
  }
  let before: string | undefined
  const recordConnectionStatus = () => {
    const { status, reason } = connection.state
    if (status === before) return
    before = status
    record('connection', status, reason)
  }
  recordConnectionStatus()
  recordChatStatus()
  const unsubscribers = [chat.subscribe(recordChatStatus), connection.subscribe(recordConnectionStatus)]
  return () => {
    for (const unsubscribe of unsubscribers) unsubscribe()
    set({ ...state, chat: undefined })
  }
}

const chatOfPage = (): PageChat | undefined => state.chat

/** The chat of this page, if it has one. */
export const useChatOfPage = (): PageChat | undefined => useSyncExternalStore(subscribeToCalls, chatOfPage, chatOfPage)

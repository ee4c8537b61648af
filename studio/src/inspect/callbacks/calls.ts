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

/** The part of a chat that is observed. */
export type NotedChat = Pick<Chat, 'state' | 'store' | 'subscribe' | 'stop'>

/** The calls so far, as an immutable snapshot. */
export interface Calls {
  /** The latest calls, oldest first. */
  readonly calls: readonly Call[]
  /** The chat of this page, where there is one. */
  readonly chat?: NotedChat | undefined
  /** Number of older calls that were dropped. */
  readonly dropped: number
}

/** Number of calls to keep. */
const MAX = 500

const NOTHING: Calls = { calls: [], dropped: 0 }
let now = NOTHING
let id = 0
const listeners = new Set<() => void>()

function set(next: Calls): void {
  now = next
  for (const listener of listeners) listener()
}

/** The calls of this page so far. */
export const callsSoFar = (): Calls => now

export function subscribeToCalls(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Clears the list. */
export const clearCalls = (): void => set({ ...now, calls: [], dropped: 0 })

function note(kind: Call['kind'], name: string, value: unknown): void {
  const calls = [...now.calls, { id: ++id, kind, name, time: performance.now(), value }]
  const over = Math.max(0, calls.length - MAX)
  set({ ...now, calls: calls.slice(over), dropped: now.dropped + over })
}

/** Callbacks that record each call. */
export const callbacksOf = (): ChatCallbacks => ({
  onData: value => note('callback', 'onData', value),
  onToolCall: value => note('callback', 'onToolCall', value),
  onFinish: value => note('callback', 'onFinish', value),
  onError: value => note('callback', 'onError', value),
})

/** Records status changes of a chat and its connection until the returned function is called. Clears earlier calls. */
export function noteChat(chat: NotedChat): () => void {
  set({ ...NOTHING, chat })
  let status: string | undefined
  const ofChat = () => {
    const { state } = chat
    if (state.status === status) return
    status = state.status
    note('chat', status, { runId: state.runId, error: state.error })
  }
  let before: string | undefined
  const ofConnection = () => {
    const { status, reason } = connection.state
    if (status === before) return
    before = status
    note('connection', status, reason)
  }
  ofConnection()
  ofChat()
  const unsubscribe = [chat.subscribe(ofChat), connection.subscribe(ofConnection)]
  return () => {
    for (const one of unsubscribe) one()
    set({ ...now, chat: undefined })
  }
}

const chatOfPage = (): NotedChat | undefined => now.chat

/** The chat of this page, where there is one. */
export const useChatOfPage = (): NotedChat | undefined => useSyncExternalStore(subscribeToCalls, chatOfPage, chatOfPage)

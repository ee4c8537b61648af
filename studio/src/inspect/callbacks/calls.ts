import type { Chat, ChatCallbacks } from '@millrace/client'
import { useSyncExternalStore } from 'react'
import { connection } from '../../app/connection.ts'

/** Something that the chat of this page told, or how it or its connection stands from then on. */
export interface Call {
  readonly id: number
  readonly kind: 'callback' | 'chat' | 'connection'
  /** Of the callback, or how it stands. */
  readonly name: string
  /** When, in milliseconds of the page. */
  readonly time: number
  readonly value: unknown
}

/** What is to be had of the chat of this page. */
export type NotedChat = Pick<Chat, 'state' | 'store' | 'subscribe' | 'stop'>

/** What was told so far: another object each time. */
export interface Calls {
  /** The latest, first to last. */
  readonly calls: readonly Call[]
  /** The chat of this page, where there is one. */
  readonly chat?: NotedChat | undefined
  /** How many there were before them. */
  readonly gone: number
}

/** The latest that are kept. */
const MOST = 500

const NOTHING: Calls = { calls: [], gone: 0 }
let now = NOTHING
let id = 0
const listeners = new Set<() => void>()

function set(next: Calls): void {
  now = next
  for (const listener of listeners) listener()
}

/** What was told on this page so far. */
export const callsSoFar = (): Calls => now

export function subscribeToCalls(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Forgets what was told so far. */
export const clearCalls = (): void => set({ ...now, calls: [], gone: 0 })

function note(kind: Call['kind'], name: string, value: unknown): void {
  const calls = [...now.calls, { id: ++id, kind, name, time: performance.now(), value }]
  const over = Math.max(0, calls.length - MOST)
  set({ ...now, calls: calls.slice(over), gone: now.gone + over })
}

/** Callbacks for a chat, by which each of its calls is noted here. */
export const callbacksOf = (): ChatCallbacks => ({
  onData: value => note('callback', 'onData', value),
  onToolCall: value => note('callback', 'onToolCall', value),
  onFinish: value => note('callback', 'onFinish', value),
  onError: value => note('callback', 'onError', value),
})

/** Notes how a chat and its connection stand, each time that changes, until the returned function is called; what was told of another is forgotten. */
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
  const leave = [chat.subscribe(ofChat), connection.subscribe(ofConnection)]
  return () => {
    for (const one of leave) one()
    set({ ...now, chat: undefined })
  }
}

const chatOfPage = (): NotedChat | undefined => now.chat

/** The chat of this page, where there is one. */
export const useChatOfPage = (): NotedChat | undefined => useSyncExternalStore(subscribeToCalls, chatOfPage, chatOfPage)

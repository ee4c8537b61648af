import type { ChatCallbacks } from '@millrace/client'

/** A callback of the chat, as it was called. */
export interface Call {
  readonly name: keyof ChatCallbacks
  /** When, in milliseconds of the page. */
  readonly time: number
  readonly value: unknown
}

/** The latest that are kept. */
const MOST = 500

let calls: readonly Call[] = []
const listeners = new Set<() => void>()

/** The callbacks that were called on this page, first to last; another array each time. */
export const callsSoFar = (): readonly Call[] => calls

export function subscribeToCalls(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function note(name: Call['name'], value: unknown): void {
  calls = [...calls.slice(1 - MOST), { name, time: performance.now(), value }]
  for (const listener of listeners) listener()
}

/** Callbacks for a chat, by which each of its calls is noted here. */
export const callbacksOf = (): ChatCallbacks => ({
  onData: value => note('onData', value),
  onToolCall: value => note('onToolCall', value),
  onFinish: value => note('onFinish', value),
  onError: value => note('onError', value),
})

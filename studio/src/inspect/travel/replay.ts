import type { Entry } from '@millrace/protocol'
import { ReplayChat, type SessionLog, useLogState } from '@millrace/react/log'
import { useEffect, useState } from 'react'
import { useInspected } from '../inspected.ts'
import { useTravel } from './travel.ts'

/** Up to how many entries further on, it goes there by these. */
const FAR = 4096

/** A conversation as it was at a place of its log, and then at another. */
class Replay {
  readonly chat: ReplayChat
  readonly #log: SessionLog
  /** What is shown: so many of these. */
  #entries: readonly Entry[] | undefined
  #count = 0

  constructor(log: SessionLog) {
    this.#log = log
    this.chat = new ReplayChat({ sessionId: log.sessionId })
  }

  /** Shows how it was at a sequence; forwards at the cost of what lies between. Says why, where that cannot be shown. */
  go(sequence: number): string | undefined {
    const { entries } = this.#log
    const count = this.#log.indexAt(sequence) + 1
    const isSame = entries === this.#entries
    if (isSame && count === this.#count) return undefined
    const isNear = isSame && count > this.#count && count - this.#count <= FAR
    try {
      if (isNear && this.chat.store.apply(entries.slice(this.#count, count))) this.chat.store.flush()
      else this.chat.show(this.#log.viewAt(sequence))
      this.#entries = entries
      this.#count = count
      return undefined
    } catch (error) {
      this.#entries = undefined
      return error instanceof Error ? error.message : String(error)
    }
  }
}

const replays = new WeakMap<SessionLog, Replay>()

function replayOf(log: SessionLog): Replay {
  const replay = replays.get(log) ?? new Replay(log)
  replays.set(log, replay)
  return replay
}

/** The conversation as it was at the sequence that is looked at: one for all who show something of it. */
export function useReplay(): { readonly chat: ReplayChat; readonly error: string | undefined } {
  const log = useInspected()
  const { at } = useTravel()
  const { head } = useLogState(log)
  const { entries } = log
  const [error, setError] = useState<string>()
  const replay = replayOf(log)
  // Who travels before the log is there sees as much of it as has come.
  const sequence = Math.min(at ?? head, head)
  // biome-ignore lint/correctness/useExhaustiveDependencies: a log that begins anew has other entries
  useEffect(() => setError(replay.go(sequence)), [replay, sequence, entries])
  return { chat: replay.chat, error }
}

import type { Entry } from '@millrace/protocol'
import { ReplayChat, type SessionLog, useLogState } from '@millrace/react/log'
import { useEffect, useState } from 'react'
import { useInspectedLog } from '../inspected-log.ts'
import { useTravel } from './travel.ts'

/** Moves forward by at most this number of entries are applied one by one instead of loading a view. */
const MAX_APPLIED = 4096

/** A conversation at a sequence of its log, which can move to another sequence. */
class Replay {
  readonly chat: ReplayChat
  readonly #log: SessionLog
  /** The shown entries are the first `#count` of these. */
  #entries: readonly Entry[] | undefined
  #count = 0

  constructor(log: SessionLog) {
    this.#log = log
    this.chat = new ReplayChat({ sessionId: log.sessionId })
  }

  /** Shows the conversation at a sequence. Returns an error message if its view is not available. */
  go(sequence: number): string | undefined {
    const { entries } = this.#log
    const count = this.#log.indexAt(sequence) + 1
    const isSame = entries === this.#entries
    if (isSame && count === this.#count) return undefined
    const isNear = isSame && count > this.#count && count - this.#count <= MAX_APPLIED
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

/** The conversation at the selected sequence, shared by all panels. */
export function useReplay(): { readonly chat: ReplayChat; readonly error: string | undefined } {
  const log = useInspectedLog()
  const { at } = useTravel()
  const { head } = useLogState(log)
  const { entries } = log
  const [error, setError] = useState<string>()
  const replay = replayOf(log)
  // Before the log is loaded, show as much as has arrived.
  const sequence = Math.min(at ?? head, head)
  // biome-ignore lint/correctness/useExhaustiveDependencies: a log that restarts has other entries
  useEffect(() => setError(replay.go(sequence)), [replay, sequence, entries])
  return { chat: replay.chat, error }
}

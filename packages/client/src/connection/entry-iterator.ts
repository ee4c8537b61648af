import type { Entry, Snapshot, Subscriber, Subscription } from '@millrace/protocol'
import { failureOf, RequestError } from '../error/chat-error.ts'
import type { ConnectionOptions, SessionEntry } from './page-connection.ts'

/** A frame that the loop has not taken yet. */
interface QueuedFrame {
  readonly sessionId: string
  readonly entries: readonly Entry[]
  readonly cursor?: string | undefined
  readonly snapshot?: Snapshot
  taken(): void
}

type Follow = (sessionId: string, follower: Subscriber, after: string) => Subscription

/** A loop over the entries of some sessions. `end` leaves it. */
export interface EntryIterator extends AsyncGenerator<SessionEntry, void, void> {
  end(): void
}

/** Loops over the entries of some sessions, with backpressure: nothing more is read until the loop has taken a frame. */
export function iterateEntries(
  { session = [], after = {}, onSnapshot }: ConnectionOptions,
  follow: Follow,
): EntryIterator {
  const frames: QueuedFrame[] = []
  const followings: Subscription[] = []
  let failure: RequestError | undefined
  let isOver = false
  let wake = () => {}

  const begin = (sessionId: string) => {
    const sessionCursor = typeof after === 'string' ? after : Object.hasOwn(after, sessionId) && after[sessionId]
    const add = (frame: Omit<QueuedFrame, 'sessionId'>) => {
      frames.push({ ...frame, sessionId })
      wake()
    }
    const following = follow(
      sessionId,
      {
        snapshot: snapshot => {
          const message = `${sessionId}: the log no longer has this position: pass onSnapshot to continue from a snapshot`
          if (!onSnapshot) throw new RequestError({ code: 'truncated', message })
          // Queued behind the frames that the loop has not taken yet.
          add({ snapshot, entries: [], taken() {} })
        },
        entries: entries => new Promise(taken => add({ entries, cursor: following.cursor, taken })),
        fail: error => {
          failure ??= failureOf(error)
          wake()
        },
      },
      sessionCursor || '0',
    )
    followings.push(following)
  }

  const end = () => {
    isOver = true
    for (const following of followings.splice(0)) following.close()
    for (const { taken } of frames.splice(0)) taken()
    wake()
  }

  async function* entries(): AsyncGenerator<SessionEntry, void, void> {
    try {
      if (!isOver) for (const sessionId of typeof session === 'string' ? [session] : session) begin(sessionId)
      while (!isOver) {
        const [frame] = frames
        if (frame) {
          const { sessionId, entries, cursor, snapshot } = frame
          let remaining = entries.length
          for (const entry of entries) {
            // Only the end of a frame has a cursor.
            yield { ...entry, sessionId, ...(--remaining === 0 && { cursor }) }
            if (isOver) return
          }
          frames.shift()
          if (snapshot) onSnapshot?.(snapshot, sessionId)
          frame.taken()
        } else if (failure) throw failure
        else {
          await new Promise<void>(resolve => {
            wake = resolve
          })
        }
      }
    } finally {
      end()
    }
  }

  const loop = entries()
  const leave = loop.return.bind(loop)
  return Object.assign(loop, {
    end,
    // Ends a pending `next`, too, which a generator's own `return` waits for.
    return: (value: undefined) => {
      end()
      return leave(value)
    },
  })
}

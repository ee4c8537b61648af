import type { Entry, Snapshot, Subscriber, Subscription } from '@millrace/protocol'
import { failureOf, RequestError } from '../error/chat-error.ts'
import type { ConnectionOptions, SessionEntry } from './page-connection.ts'

/** A frame that the loop has not consumed yet. */
interface QueuedFrame {
  readonly sessionId: string
  readonly entries: readonly Entry[]
  readonly cursor?: string | undefined
  readonly snapshot?: Snapshot
  /** Called after the loop has consumed the frame: the connection reads on. */
  ack(): void
}

type Follow = (sessionId: string, follower: Subscriber, after: string) => Subscription

/** An async iterator over the entries of some sessions. `end` ends it. */
export interface EntryIterator extends AsyncGenerator<SessionEntry, void, void> {
  end(): void
}

/** Iterates over the entries of some sessions, with backpressure: reads on only after the loop has consumed a frame. */
export function iterateEntries(
  { session = [], after = {}, onSnapshot }: ConnectionOptions,
  follow: Follow,
): EntryIterator {
  const frames: QueuedFrame[] = []
  const subscriptions: Subscription[] = []
  let failure: RequestError | undefined
  let isEnded = false
  let wake = () => {}

  const begin = (sessionId: string) => {
    const sessionCursor = typeof after === 'string' ? after : Object.hasOwn(after, sessionId) && after[sessionId]
    const add = (frame: Omit<QueuedFrame, 'sessionId'>) => {
      frames.push({ ...frame, sessionId })
      wake()
    }
    const subscription = follow(
      sessionId,
      {
        snapshot: snapshot => {
          const message = `${sessionId}: the log no longer has this position: pass onSnapshot to continue from a snapshot`
          if (!onSnapshot) throw new RequestError({ code: 'truncated', message })
          // Queued behind the frames that the loop has not consumed yet.
          add({ snapshot, entries: [], ack() {} })
        },
        entries: entries => new Promise(ack => add({ entries, cursor: subscription.cursor, ack })),
        fail: error => {
          failure ??= failureOf(error)
          wake()
        },
      },
      sessionCursor || '0',
    )
    subscriptions.push(subscription)
  }

  const end = () => {
    isEnded = true
    for (const subscription of subscriptions.splice(0)) subscription.close()
    for (const { ack } of frames.splice(0)) ack()
    wake()
  }

  async function* entries(): AsyncGenerator<SessionEntry, void, void> {
    try {
      if (!isEnded) for (const sessionId of typeof session === 'string' ? [session] : session) begin(sessionId)
      while (!isEnded) {
        const [frame] = frames
        if (frame) {
          const { sessionId, entries, cursor, snapshot } = frame
          let remaining = entries.length
          for (const entry of entries) {
            // Only the end of a frame has a cursor.
            yield { ...entry, sessionId, ...(--remaining === 0 && { cursor }) }
            if (isEnded) return
          }
          frames.shift()
          if (snapshot) onSnapshot?.(snapshot, sessionId)
          frame.ack()
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
  const returnFromLoop = loop.return.bind(loop)
  return Object.assign(loop, {
    end,
    // Ends a pending `next`, too, which a generator's own `return` waits for.
    return: (value: undefined) => {
      end()
      return returnFromLoop(value)
    },
  })
}

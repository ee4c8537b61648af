import type { Entry, Snapshot, Subscriber, Subscription } from '@millrace/protocol'
import { failureOf, RequestError } from '../error/chat-error.ts'
import type { ConnectionOptions, SessionEntry } from './page-connection.ts'

/** What came of a session, and has not been taken yet. */
interface QueuedFrame {
  readonly sessionId: string
  readonly entries: readonly Entry[]
  readonly cursor?: string | undefined
  readonly snapshot?: Snapshot
  taken(): void
}

type Follow = (sessionId: string, follower: Subscriber, after: string) => Subscription

/** The entries of some sessions, as they come; `end` leaves them. */
export interface EntryIterator extends AsyncGenerator<SessionEntry, void, void> {
  end(): void
}

/** Loops over the entries of some sessions. Nothing more is read before they are taken: a slow loop slows its line down, and fills no memory. */
export function iterateEntries(
  { session = [], after = {}, onSnapshot }: ConnectionOptions,
  follow: Follow,
): EntryIterator {
  const pieces: QueuedFrame[] = []
  const followings: Subscription[] = []
  let failure: RequestError | undefined
  let isOver = false
  let wake = () => {}

  const begin = (sessionId: string) => {
    const own = typeof after === 'string' ? after : Object.hasOwn(after, sessionId) && after[sessionId]
    const add = (piece: Omit<QueuedFrame, 'sessionId'>) => {
      pieces.push({ ...piece, sessionId })
      wake()
    }
    const following = follow(
      sessionId,
      {
        snapshot: snapshot => {
          const message = `${sessionId}: the log does not hold this place`
          if (!onSnapshot) throw new RequestError({ code: 'truncated', message })
          // In its place: what came before it may not have been taken yet.
          add({ snapshot, entries: [], taken() {} })
        },
        entries: entries => new Promise(taken => add({ entries, cursor: following.cursor, taken })),
        fail: told => {
          failure ??= failureOf(told)
          wake()
        },
      },
      own || '0',
    )
    followings.push(following)
  }

  const end = () => {
    isOver = true
    for (const following of followings.splice(0)) following.close()
    for (const { taken } of pieces.splice(0)) taken()
    wake()
  }

  async function* entries(): AsyncGenerator<SessionEntry, void, void> {
    try {
      if (!isOver) for (const sessionId of typeof session === 'string' ? [session] : session) begin(sessionId)
      while (!isOver) {
        const [piece] = pieces
        if (piece) {
          const { sessionId, entries, cursor, snapshot } = piece
          let left = entries.length
          for (const entry of entries) {
            // A frame counts whole: in the middle of one there is no place to go on from.
            yield { ...entry, sessionId, ...(--left === 0 && { cursor }) }
            if (isOver) return
          }
          pieces.shift()
          if (snapshot) onSnapshot?.(snapshot, sessionId)
          piece.taken()
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
    // At once: whoever waits for the next is told that there is none.
    return: (value: undefined) => {
      end()
      return leave(value)
    },
  })
}

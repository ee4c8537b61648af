// Clients that are broken on purpose: what the schedules are to find.

import { decodeCursor, type Frame, type Message } from '@millrace/protocol'
import { vi } from 'vitest'
import { Api } from '../connection/api.ts'
import { Followed } from '../connection/followed.ts'
import { Flush } from '../store/flush.ts'
import { Store } from '../store/store.ts'

export interface Mutant {
  readonly name: string
  /** What is said of it. */
  readonly found: RegExp
  breaks(): void
}

/** True now and then: every so many times. */
function every(count: number): () => boolean {
  let n = 0
  return () => ++n % count === 0
}

/** Changes the frames before a session takes them; nothing, and it never sees the frame. */
function taking(change: (frame: Frame, position: number) => Frame | undefined): void {
  const { take } = Followed.prototype
  vi.spyOn(Followed.prototype, 'take').mockImplementation(function (this: Followed, frame) {
    const position = this.cursor === undefined ? 0 : decodeCursor(this.cursor).sequence
    const changed = change(frame, position)
    return changed && take.call(this, changed)
  })
}

export const MUTANTS: readonly Mutant[] = [
  {
    name: 'a connection that ignores gaps',
    found: /shows another session|went from|was not told|gave up/,
    breaks: () =>
      taking((frame, position) =>
        frame.type === 'entries' && frame.after > position ? { ...frame, after: position } : frame,
      ),
  },
  {
    name: 'a connection that applies what came twice',
    found: /was told \d+ times|after \d+$/,
    breaks: () =>
      taking((frame, position) =>
        frame.type === 'entries' && frame.sequence <= position
          ? { ...frame, after: position, sequence: position }
          : frame,
      ),
  },
  {
    name: 'a connection that loses the end of a frame',
    found: /shows another session|went from|was not told|gave up/,
    breaks() {
      const isTurn = every(5)
      taking(frame =>
        frame.type === 'entries' && isTurn() ? { ...frame, entries: frame.entries.slice(0, -1) } : frame,
      )
    },
  },
  {
    name: 'a connection that forgets its cursor',
    found: /gave up/,
    breaks: () => void vi.spyOn(Followed.prototype, 'cursor', 'get').mockReturnValue('0'),
  },
  {
    name: 'a connection that takes no snapshot where its place is gone',
    found: /gave up/,
    breaks: () => taking(frame => (frame.type === 'truncated' ? undefined : frame)),
  },
  {
    name: 'a store that loses a flush',
    found: /gave up|shows another session/,
    breaks() {
      const { note } = Flush.prototype
      const isTurn = every(3)
      vi.spyOn(Flush.prototype, 'note').mockImplementation(function (this: Flush) {
        if (!isTurn()) note.call(this)
      })
    },
  },
  {
    name: 'a store that goes on over a rewind',
    found: /gave up|shows another session/,
    breaks() {
      const { fold } = Store.prototype
      vi.spyOn(Store.prototype, 'fold').mockImplementation(function (this: Store, ...given) {
        fold.apply(this, given)
        return true
      })
    },
  },
  {
    name: 'a chat that takes a close for the end',
    found: /was done at|shows another session/,
    breaks() {
      let isLost = false
      const { say } = Followed.prototype
      vi.spyOn(Followed.prototype, 'say').mockImplementation(function (this: Followed, status, reason) {
        isLost = status === 'offline'
        say.call(this, status, reason)
      })
      const get = Object.getOwnPropertyDescriptor(Store.prototype, 'messages')?.get as () => readonly Message[]
      vi.spyOn(Store.prototype, 'messages', 'get').mockImplementation(function (this: Store) {
        const messages = get.call(this)
        return isLost ? messages.map(message => ({ ...message, status: 'sent' })) : messages
      })
    },
  },
  {
    name: 'a chat that asks nobody before it runs a tool',
    found: /ran in \d tabs/,
    breaks() {
      const { ask } = Api.prototype
      vi.spyOn(Api.prototype, 'ask').mockImplementation(function <T>(this: Api, ...given: Parameters<Api['ask']>) {
        const [, , body] = given
        if ((body as { kind?: string } | undefined)?.kind === 'claim') return Promise.resolve({} as T)
        return ask.apply(this, given) as Promise<T>
      })
    },
  },
]

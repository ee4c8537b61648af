import { decodeCursor, type Frame, type Message } from '@millrace/protocol'
import { vi } from 'vitest'
import { everyNth, type Mutant } from '../../../../../scripts/faults/sessions/mutant-search.fixture.ts'
import { Api } from '../../connection/api.ts'
import { FollowedSession } from '../../connection/followed-session.ts'
import { FlushScheduler } from '../../notify/flush-scheduler.ts'
import { Store } from '../../store/store.ts'

/** Changes the frames before a session takes them. A frame changed to undefined is dropped. */
function changeFrames(change: (frame: Frame, position: number) => Frame | undefined): void {
  const { onFrame } = FollowedSession.prototype
  vi.spyOn(FollowedSession.prototype, 'onFrame').mockImplementation(function (this: FollowedSession, frame) {
    const position = this.cursor === undefined ? 0 : decodeCursor(this.cursor).sequence
    const changed = change(frame, position)
    return changed && onFrame.call(this, changed)
  })
}

/** Planted bugs of the client. */
export const MUTANTS: readonly Mutant[] = [
  {
    name: 'a connection that ignores gaps',
    seed: 6,
    found: /shows another session|went from|was not reported|timed out/,
    plant: () =>
      changeFrames((frame, position) =>
        frame.type === 'entries' && frame.after > position ? { ...frame, after: position } : frame,
      ),
  },
  {
    name: 'a connection that applies a frame twice',
    seed: 51,
    found: /was reported \d+ times|after \d+$/,
    plant: () =>
      changeFrames((frame, position) =>
        frame.type === 'entries' && frame.sequence <= position
          ? { ...frame, after: position, sequence: position }
          : frame,
      ),
  },
  {
    name: 'a connection that loses the last entry of a frame',
    seed: 3,
    found: /shows another session|went from|was not reported|timed out/,
    plant() {
      const isTurn = everyNth(5)
      changeFrames(frame =>
        frame.type === 'entries' && isTurn() ? { ...frame, entries: frame.entries.slice(0, -1) } : frame,
      )
    },
  },
  {
    name: 'a connection that forgets its cursor',
    seed: 4,
    blocksClient: true,
    found: /timed out/,
    plant: () => void vi.spyOn(FollowedSession.prototype, 'cursor', 'get').mockReturnValue('0'),
  },
  {
    name: 'a connection that takes no snapshot after a truncation',
    seed: 56,
    blocksClient: true,
    found: /timed out/,
    plant: () => changeFrames(frame => (frame.type === 'truncated' ? undefined : frame)),
  },
  {
    name: 'a store that loses a flush',
    seed: 20,
    blocksClient: true,
    found: /timed out|shows another session/,
    plant() {
      const { schedule } = FlushScheduler.prototype
      const isTurn = everyNth(3)
      vi.spyOn(FlushScheduler.prototype, 'schedule').mockImplementation(function (this: FlushScheduler) {
        if (!isTurn()) schedule.call(this)
      })
    },
  },
  {
    name: 'a store that takes no snapshot after a rewind',
    seed: 6,
    found: /timed out|shows another session/,
    plant() {
      const { fold } = Store.prototype
      vi.spyOn(Store.prototype, 'fold').mockImplementation(function (this: Store, ...args) {
        fold.apply(this, args)
        return true
      })
    },
  },
  {
    name: 'a chat that takes a lost connection for the end of a run',
    seed: 11,
    found: /was shown as sent at|shows another session/,
    plant() {
      let isLost = false
      const { setStatus } = FollowedSession.prototype
      vi.spyOn(FollowedSession.prototype, 'setStatus').mockImplementation(function (
        this: FollowedSession,
        status,
        reason,
      ) {
        isLost = status === 'offline'
        setStatus.call(this, status, reason)
      })
      const get = Object.getOwnPropertyDescriptor(Store.prototype, 'messages')?.get as () => readonly Message[]
      vi.spyOn(Store.prototype, 'messages', 'get').mockImplementation(function (this: Store) {
        const messages = get.call(this)
        return isLost ? messages.map(message => ({ ...message, status: 'sent' })) : messages
      })
    },
  },
  {
    name: 'a chat that runs a tool without a claim',
    seed: 16,
    found: /ran in \d tabs/,
    plant() {
      const { ask } = Api.prototype
      vi.spyOn(Api.prototype, 'ask').mockImplementation(function <T>(this: Api, ...args: Parameters<Api['ask']>) {
        const [, , body] = args
        if ((body as { kind?: string } | undefined)?.kind === 'claim') return Promise.resolve({} as T)
        return ask.apply(this, args) as Promise<T>
      })
    },
  },
]

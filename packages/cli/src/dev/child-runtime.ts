// What the server and the worker of a dev host have in common: they are told to go, and go.

import type { Asked, Start, Told } from './messages.ts'
import { obstacleOf } from './obstacle.ts'

/** How long one that is told to go may take, in milliseconds: nobody is left to end it. */
const LEAVE_MS = 10_000

/** What a child was started with. */
export const started = (): Start => JSON.parse(process.argv[2] ?? '{}')

/** Tells the supervisor, if it is still there. */
export function tell(told: Told): void {
  if (process.connected) process.send?.(told, undefined, undefined, () => {})
}

/** Tells the supervisor what stands in the way, and goes. */
export function fail(error: unknown): void {
  const told: Told = { type: 'failed', ...obstacleOf(error) }
  if (process.connected) process.send?.(told, undefined, undefined, () => process.exit(1))
  else process.exit(1)
}

/** Goes in good order when it is told to, or nobody is left to tell; hears what else the supervisor says. */
export function obey(close: () => Promise<void>, hear: (asked: Asked) => void = () => {}): void {
  let isLeaving = false
  const leave = () => {
    // Who told it to go is gone itself: nobody waits for good order any more.
    if (isLeaving && !process.connected) process.exit(1)
    if (isLeaving) return
    isLeaving = true
    setTimeout(() => process.exit(1), LEAVE_MS).unref()
    close().then(
      () => process.exit(0),
      error => {
        console.error(error)
        process.exit(1)
      },
    )
  }
  // A terminal sends Ctrl-C to all of its processes: who started this one says when it goes.
  process.on('SIGINT', () => {})
  process.on('SIGTERM', leave)
  process.on('disconnect', leave)
  process.on('message', (asked: Asked) => (asked.type === 'stop' ? leave() : hear(asked)))
}

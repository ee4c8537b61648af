import type { Lists } from './session-lists.ts'
import { listFrame } from './session-lists.ts'
import type { Outlet } from './stream-channel.ts'

/** Somebody's list on one connection: all of it at first, then what changes, until the connection is over; throws where it cannot be looked at. */
export async function followList(lists: Lists, principal: string | null, outlet: Outlet): Promise<void> {
  const over = Promise.withResolvers<void>()
  const stop = lists.follow(principal, (change, error) => {
    if (change === undefined) return over.reject(error)
    // Who is too slow for a list is told all of it when it comes back.
    if (outlet.isFull) return outlet.destroy()
    const text = JSON.stringify(listFrame(change))
    outlet.write(Buffer.from(outlet.format === 'sse' ? `data: ${text}\n\n` : `${text}\n`))
  })
  outlet.signal.addEventListener('abort', () => over.resolve(), { once: true })
  if (!outlet.isOpen) over.resolve()
  try {
    await over.promise
  } finally {
    stop()
  }
}

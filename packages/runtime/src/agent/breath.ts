// Work that never has to wait would let nobody else go on: no timer, no stop, no other session.

/** As long may the process work without a pause, in milliseconds. */
const LONGEST_MS = 10

/** When the work of this turn of the event loop began, as far as anybody has asked. */
let since: number | undefined

/** A pause for others, where it is time for one; asked between pieces of work that may follow each other at once. */
export function breath(): Promise<void> | undefined {
  if (since === undefined) {
    since = performance.now()
    setImmediate(() => {
      since = undefined
    })
    return undefined
  }
  return performance.now() - since < LONGEST_MS ? undefined : new Promise(resolve => setImmediate(resolve))
}

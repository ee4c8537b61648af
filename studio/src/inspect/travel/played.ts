import type { Entry } from '@millrace/protocol'

/** Nobody waits for longer until the next entry, in milliseconds. */
const LONGEST = 1000

/** Where one is who plays the log from a place on for some time, and how much of that time is left until the next entry. */
export function played(
  entries: readonly Entry[],
  from: number,
  ms: number,
): { readonly index: number; readonly left: number } {
  let index = from
  let left = ms
  while (index + 1 < entries.length) {
    const [here, next] = [entries[index] as Entry | undefined, entries[index + 1] as Entry]
    const wait = here ? Math.min(LONGEST, next.timestamp - here.timestamp) : 0
    if (wait > left) break
    left -= wait
    index++
  }
  return { index, left }
}

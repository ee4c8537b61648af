import type { Entry } from '@millrace/protocol'

/** Maximum wait for the next entry during playback. */
const MAX_WAIT_MS = 1000

/** Advances playback from an index by some time. Returns the new index and the remaining time. */
export function advancePlayback(
  entries: readonly Entry[],
  from: number,
  ms: number,
): { readonly index: number; readonly left: number } {
  let index = from
  let left = ms
  while (index + 1 < entries.length) {
    const [here, next] = [entries[index] as Entry | undefined, entries[index + 1] as Entry]
    const wait = here ? Math.min(MAX_WAIT_MS, next.timestamp - here.timestamp) : 0
    if (wait > left) break
    left -= wait
    index++
  }
  return { index, left }
}

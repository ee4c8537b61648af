/** Seeds that are always run, each with what it once found. */
export const KEPT: readonly (readonly [seed: number, found: string])[] = [
  [147, 'a takeover after a stop that left out what a discarded attempt had used'],
  [208, 'a takeover between the end of a failed attempt and its discard, which left out what that had used'],
]

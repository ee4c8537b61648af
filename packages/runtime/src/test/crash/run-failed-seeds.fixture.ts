/** Seeds that are always run, each with what it once found. */
export const FAILED_SEEDS: readonly (readonly [seed: number, found: string])[] = [
  [147, 'an attempt that failed before its first words had gone out, and whose usage did not count as discarded'],
  [208, 'a takeover between the end of a failed attempt and its discard, which left out what that had used'],
]

/** Seeds that are always run, each with the bug that it found. */
export const FAILED_SEEDS: readonly (readonly [seed: number, bug: string])[] = [
  [147, 'did not count the usage of an attempt that failed before its first draft chunk was appended'],
  [208, 'lost the usage of a failed attempt in a takeover before its discard'],
]

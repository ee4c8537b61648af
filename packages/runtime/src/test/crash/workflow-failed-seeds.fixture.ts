/** Seeds of workflows that are always run, each with the bug that it found. */
export const FAILED_SEEDS: readonly (readonly [seed: number, bug: string])[] = [
  [2020, 'repeated emissions after an interrupt timed out, because its record lost their counts'],
  [70418, 'let the code of a node catch an unavailable log as an error of its interrupt'],
]

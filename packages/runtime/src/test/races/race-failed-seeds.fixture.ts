/** Seeds that are always run, each with what it once found. */
export const FAILED_SEEDS: readonly (readonly [seed: number, found: string])[] = [
  [41, 'a call that ran again because it came to its end while the session was read up to before that'],
  [129, 'the same, without a fault of the store'],
  [776, 'a sub-agent that worked on after its end, for the same reason'],
  [13505, 'work that was begun again after a stop that was taken back, which is as it should be'],
]

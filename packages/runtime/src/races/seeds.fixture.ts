/** Seeds that are always run, each with what it once found. */
export const KEPT: readonly (readonly [seed: number, found: string])[] = [
  [129, 'a call that ran again because it came to its end while the session was read up to before that'],
  [267, 'a sub-agent that worked on after its end, for the same reason'],
  [727, 'an outcome that was lost because somebody had answered another call just before its commit'],
  [992, 'the same, of a run that was taken over'],
]

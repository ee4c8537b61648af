/** Seeds that are always run, each with the bug that it found. */
export const FAILED_SEEDS: readonly (readonly [seed: number, bug: string])[] = [
  [41, 'repeated a call that ended while the session was being read'],
  [129, 'repeated a call that ended while the session was being read, without store faults'],
  [776, 'continued a sub-agent that ended while the session was being read'],
  [13505, 'repeated work after a withdrawn stop, which is correct'],
]

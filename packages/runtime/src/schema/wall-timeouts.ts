/**
 * Wall times of the tries of a check, in multiples of its timeout. The check is tried again if it got less than half of its
 * timeout on the CPU, as on a busy machine. Each try gets more time than the one before, so that slow progress is enough.
 */
export const WALL_TIMEOUTS = [1, 2, 4] as const

/** Longest wall time of a check, in multiples of its timeout. */
export const MAX_WALL_TIMEOUTS = WALL_TIMEOUTS.reduce<number>((sum, times) => sum + times, 0)

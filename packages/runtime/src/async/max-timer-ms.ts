/** Longest delay of a timer, in ms (about 24.8 days). Node fires a timer with a longer delay at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1

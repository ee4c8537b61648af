/** Number of deltas in tests. With this number no garbage is collected first, and fewer messages are mounted. */
export const TRIAL = 20

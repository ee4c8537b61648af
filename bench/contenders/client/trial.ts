/** How many deltas a test tries, and no measurement: nothing is collected before it, and fewer messages are mounted. */
export const TRIAL = 20

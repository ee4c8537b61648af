/** What the agent of these schedules says: no two words of it are the same, so that each place in it is told from all others. */
export const ANSWER = Array.from({ length: 400 }, (_, at) => `w${at}`).join(' ')

/** The answer of the agent in these schedules. No word occurs twice, so that every position in it is distinct. */
export const ANSWER = Array.from({ length: 400 }, (_, at) => `w${at}`).join(' ')

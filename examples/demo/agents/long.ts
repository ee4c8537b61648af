import { agent } from 'millrace'
import { pacedModel } from '../pace.ts'

const MOST_WORDS = 100_000

/** Counts to the number that it is told, 200 words a second. */
export const long = agent({
  name: 'long',
  model: pacedModel(({ lastText }) => {
    const asked = /\d[\d,]*/.exec(lastText)?.[0].replaceAll(',', '') ?? 200
    const count = Math.min(Number(asked), MOST_WORDS)
    return { text: Array.from({ length: count }, (_, at) => at + 1).join(' ') }
  }, 200),
})

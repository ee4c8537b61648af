import { agent } from 'millrace'
import { modelOf } from '../model.ts'

const MAX_WORDS = 100_000
const DAYS = 80

/** Slow enough to restart the server while it streams. */
export const WORDS_PER_SECOND = 200

/** Counts to the number in the message. Without one it writes the diary of a mill, for 20 s or more. */
export const long = agent({
  name: 'long',
  model: modelOf(({ lastText }) => {
    const requestedCount = /\d[\d,]*/.exec(lastText)?.[0].replaceAll(',', '')
    return { text: requestedCount === undefined ? diary() : counted(Math.min(Number(requestedCount), MAX_WORDS)) }
  }, WORDS_PER_SECOND),
  instructions: [
    'If the user names a number, count from 1 to it in digits, with a space between two numbers, and say nothing else.',
    'Otherwise write the diary of a water mill in Markdown, as long as you can: a heading for each day, with prose, lists and tables.',
  ].join('\n'),
})

const counted = (count: number) => Array.from({ length: count }, (_, at) => at + 1).join(' ')

const diary = () => ['# The diary of a mill', ...Array.from({ length: DAYS }, (_, at) => day(at + 1))].join('\n\n')

/** One day of the diary. Deterministic. */
function day(number: number): string {
  const level = 40 + ((number * 17) % 60)
  const sacks = 3 + ((number * 5) % 9)
  return `## Day ${number}

The water stood at **${level} cm** when we opened the race, and the wheel was ${level > 70 ? 'hard to hold' : 'in no hurry'}. We ground *${sacks} sacks* before the sun was over the hill, and swept the floor after them.

- The \`upper stone\` runs ${number % 3 === 0 ? 'hot, and has to be dressed' : 'true'}
- ${sacks - 1} farmers came with a cart, and one on foot

| hour | water | sacks |
|---|---:|---:|
| six | ${level} cm | 0 |
| noon | ${level - 8} cm | ${sacks} |`
}

import { agent } from 'millrace'
import { modelOf } from '../model.ts'

/** Looks something up on one shelf. */
export const librarian = agent({
  name: 'librarian',
  model: modelOf(({ lastText }) => ({ reasoning: 'Which shelf is that?', text: `Found: ${lastText}.` })),
  instructions: 'You are told a topic and a kind of source. Say in one sentence what sources of that kind tell of it.',
})

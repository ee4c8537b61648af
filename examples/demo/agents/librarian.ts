import { agent } from 'millrace'
import { modelOf } from '../model.ts'

/** Looks up one kind of source on a topic. */
export const librarian = agent({
  name: 'librarian',
  model: modelOf(({ lastText }) => ({ reasoning: 'Searching the shelves.', text: `Found: ${lastText}.` })),
  instructions: 'You get a topic and a kind of source. Say in one sentence what sources of that kind say about it.',
})

import { agent } from 'millrace'
import { modelOf } from '../model.ts'

/** Repeats the message of the user. */
export const echo = agent({
  name: 'echo',
  model: modelOf(({ lastText }) => ({ text: lastText })),
  instructions: 'Repeat the latest message of the user word for word, and say nothing else.',
})

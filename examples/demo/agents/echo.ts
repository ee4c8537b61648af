import { agent } from 'millrace'
import { pacedModel } from '../pace.ts'

/** Says what it is told, word by word. */
export const echo = agent({
  name: 'echo',
  model: pacedModel(({ lastText }) => ({ text: lastText })),
})

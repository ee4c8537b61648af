import { agent } from 'millrace'
import { pacedModel } from '../pace.ts'
import { Notes, noteTool } from './notes.ts'

/** Finds out what is doubtful about something. */
export const critic = agent({
  name: 'critic',
  model: pacedModel(({ lastText, turnAnswers }) => {
    if (turnAnswers > 0) return { text: `One source on "${lastText}" is old.` }
    return { reasoning: 'Is that so?', calls: [{ name: 'note_doubt', input: { line: `Doubtful: ${lastText}` } }] }
  }),
  instructions: 'Find out what is doubtful. Note it for the team.',
  tools: [noteTool('note_doubt', 'doubts')],
  state: Notes,
})

import { agent } from 'millrace'
import { modelOf } from '../model.ts'
import { Notes, noteTool } from './notes.ts'

/** Finds out what is doubtful about something. */
export const critic = agent({
  name: 'critic',
  model: modelOf(({ lastText, turnAnswers }) => {
    if (turnAnswers > 0) return { text: `One source on "${lastText}" is old.` }
    return { reasoning: 'Is that so?', calls: [{ name: 'note_doubt', input: { line: `Doubtful: ${lastText}` } }] }
  }),
  instructions:
    'Find out what is doubtful about the topic. Note it for the team in one line, then say it in one sentence.',
  tools: [noteTool('note_doubt', 'doubts')],
  stateSchema: Notes,
})

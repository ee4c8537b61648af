import { agent } from 'millrace'
import { modelOf } from '../model.ts'
import { Notes, noteTool } from './notes.ts'

/** Finds uncertain claims about a topic. */
export const critic = agent({
  name: 'critic',
  model: modelOf(({ lastText, turnAnswers }) => {
    if (turnAnswers > 0) return { text: `One source on "${lastText}" is outdated.` }
    return {
      reasoning: 'Which of this is uncertain?',
      calls: [{ name: 'note_doubt', input: { line: `Uncertain: ${lastText}` } }],
    }
  }),
  instructions:
    'Find uncertain claims about the topic. Note them for the team in one line, then state them in one sentence.',
  tools: [noteTool('note_doubt', 'doubts')],
  stateSchema: Notes,
})

import { agent } from 'millrace'
import { pacedModel } from '../pace.ts'
import { Notes, noteTool } from './notes.ts'

/** Finds out what is known of something. */
export const researcher = agent({
  name: 'researcher',
  model: pacedModel(({ lastText, turnAnswers }) => {
    if (turnAnswers > 0) return { text: `Three sources tell of "${lastText}".` }
    return { reasoning: 'Let me see.', calls: [{ name: 'note_finding', input: { line: `Known: ${lastText}` } }] }
  }),
  instructions: 'Find out what is known. Note it for the team.',
  tools: [noteTool('note_finding', 'findings')],
  state: Notes,
})

import { agent, subAgent } from 'millrace'
import { modelOf } from '../model.ts'
import { librarian } from './librarian.ts'
import { Notes, noteTool } from './notes.ts'

/** Finds out what is known of something: sends two librarians off at the same time, and notes what they bring. */
export const researcher = agent({
  name: 'researcher',
  model: modelOf(({ lastText, turnAnswers }) => {
    if (turnAnswers === 0) {
      const calls = ['books', 'letters'].map(kind => ({
        name: 'librarian',
        input: { prompt: `${kind} on ${lastText}` },
      }))
      return { reasoning: 'Let me see what the library has.', calls }
    }
    if (turnAnswers === 1) return { calls: [{ name: 'note_finding', input: { line: `Known: ${lastText}` } }] }
    return { text: `Three sources tell of "${lastText}".` }
  }),
  instructions:
    'Find out what is known of the topic. Ask the librarian twice at the same time: for books on it, and for letters on it. Note what you found for the team in one line, then say it in one sentence.',
  tools: [noteTool('note_finding', 'findings')],
  subAgents: [subAgent(librarian, { description: 'Looks up one kind of source on one topic' })],
  stateSchema: Notes,
})

import { agent, subAgent } from 'millrace'
import { modelOf } from '../model.ts'
import { librarian } from './librarian.ts'
import { Notes, noteTool } from './notes.ts'

/** Researches a topic: asks two librarians in parallel and notes the result. */
export const researcher = agent({
  name: 'researcher',
  model: modelOf(({ lastText, turnAnswers }) => {
    if (turnAnswers === 0) {
      const calls = ['books', 'letters'].map(kind => ({
        name: 'librarian',
        input: { prompt: `${kind} on ${lastText}` },
      }))
      return { reasoning: 'Let me search the library.', calls }
    }
    if (turnAnswers === 1) return { calls: [{ name: 'note_finding', input: { line: `Known: ${lastText}` } }] }
    return { text: `Three sources cover "${lastText}".` }
  }),
  instructions:
    'Find out what is known about the topic. Ask the librarian twice in parallel: for books and for letters on it. Note what you found for the team in one line, then state it in one sentence.',
  tools: [noteTool('note_finding', 'findings')],
  subAgents: [subAgent(librarian, { description: 'Looks up one kind of source on one topic' })],
  stateSchema: Notes,
})

import { agent, type ScriptedAnswer, type ScriptedPrompt, subAgent } from 'millrace'
import { modelOf } from '../model.ts'
import { critic } from './critic.ts'
import { Notes } from './notes.ts'
import { outcomeOf } from './outcome.ts'
import { researcher } from './researcher.ts'

function answer(prompt: ScriptedPrompt): ScriptedAnswer {
  const input = { prompt: prompt.lastText }
  if (prompt.turnAnswers === 0) {
    return {
      // Not as text, which would count as an answer where the run is stopped before its calls.
      reasoning: 'Two colleagues know more about this than I do.',
      calls: [
        { name: 'researcher', input },
        { name: 'critic', input },
      ],
    }
  }
  const [found, doubted] = ['researcher', 'critic'].map(name => {
    const outcome = outcomeOf(prompt, name)
    return outcome?.type === 'text' ? outcome.value : `The ${name} had no answer.`
  })
  return { text: `In short: ${found} ${doubted}` }
}

/** Lets two others work side by side, one of whom has helpers of its own; they note in the state what they found, and it sums up. */
export const team = agent({
  name: 'team',
  model: modelOf(answer),
  instructions:
    'Ask the researcher and the critic about the topic at the same time, and once each. Then sum up what they said, in two or three sentences.',
  subAgents: [
    subAgent(researcher, { description: 'Finds out what is known' }),
    subAgent(critic, { description: 'Finds out what is doubtful' }),
  ],
  stateSchema: Notes,
  initialState: { findings: [], doubts: [] },
})

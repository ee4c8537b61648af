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
      // Reasoning, not text: text would count as an answer if the run is stopped before its calls.
      reasoning: 'I will ask the researcher and the critic.',
      calls: [
        { name: 'researcher', input },
        { name: 'critic', input },
      ],
    }
  }
  const [found, doubted] = ['researcher', 'critic'].map(name => {
    const outcome = outcomeOf(prompt, name)
    return outcome?.type === 'text' ? outcome.value : `The ${name} did not answer.`
  })
  return { text: `In short: ${found} ${doubted}` }
}

/** Runs two sub-agents in parallel, one with sub-agents of its own. They note findings in the shared state, and the team sums up. */
export const team = agent({
  name: 'team',
  model: modelOf(answer),
  instructions:
    'Ask the researcher and the critic about the topic, once each and in parallel. Then summarize their answers in two or three sentences.',
  subAgents: [
    subAgent(researcher, { description: 'Researches a topic' }),
    subAgent(critic, { description: 'Finds uncertain claims about a topic' }),
  ],
  stateSchema: Notes,
  initialState: { findings: [], doubts: [] },
})

import { type Agent, agent, subAgent } from '@millrace/runtime'
import { longText, scriptedAgents } from '../../../../../scripts/faults/sessions/scripted-agents.fixture.ts'

/** Stands in the context of each session, which is internal: it must never reach a client (law 10). */
export const SECRET = 'the-key-lies-under-the-stone'

const { model, teller, weigher, stammerer, seller } = scriptedAgents({ paceMs: 2, maxFailures: 2 })

/** Runs two sub-agents at once. */
const miller = agent({
  name: 'miller',
  model: model(({ turnAnswers, key }) =>
    turnAnswers === 0
      ? {
          reasoning: 'Others can do this.',
          calls: [
            { name: 'weigher', input: { prompt: 'Weigh the sacks.' }, id: `${key}-a` },
            { name: 'stammerer', input: { prompt: 'Look at the wheel.' }, id: `${key}-b` },
          ],
        }
      : { text: longText('All is done.') },
  ),
  subAgents: [subAgent(weigher, { description: 'Weighs' }), subAgent(stammerer, { description: 'Looks' })],
  initialState: {},
  parallelCalls: 2,
})

export const AGENTS: readonly Agent[] = [teller, weigher, stammerer, seller, miller]
export const NAMES = ['teller', 'weigher', 'stammerer', 'seller', 'miller'] as const

import { type Agent, agent, subAgent } from '@millrace/runtime'
import { longText, scriptedAgents } from '../../../../../scripts/faults/sessions/scripted-agents.fixture.ts'

/** A value in the context of each session. The context is internal, so this must never reach a client (law 10). */
export const SECRET = 'the-key-lies-under-the-stone'

const { model, teller, weigher, flaky, seller } = scriptedAgents({ paceMs: 2, maxFailures: 2 })

/** Runs two sub-agents at once. */
const miller = agent({
  name: 'miller',
  model: model(({ turnAnswers, key }) =>
    turnAnswers === 0
      ? {
          reasoning: 'Others can do this.',
          calls: [
            { name: 'weigher', input: { prompt: 'Weigh the sacks.' }, id: `${key}-a` },
            { name: 'flaky', input: { prompt: 'Look at the wheel.' }, id: `${key}-b` },
          ],
        }
      : { text: longText('All is done.') },
  ),
  subAgents: [subAgent(weigher, { description: 'Weighs' }), subAgent(flaky, { description: 'Looks' })],
  initialState: {},
  parallelCalls: 2,
})

export const AGENTS: readonly Agent[] = [teller, weigher, flaky, seller, miller]
export const NAMES = ['teller', 'weigher', 'flaky', 'seller', 'miller'] as const
